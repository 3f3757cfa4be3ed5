// The state of a server in one look: its volumes, who is on, what was carried, and how much room is left.
import type { Clock, DiskRoot, DiskSpace } from "@runnel/shared";
import { wallMs } from "@runnel/shared";
import type { DeviceRegistry } from "../auth/device-registry.ts";
import type { Live } from "../live/live.ts";
import type { Overview, VolumeRow } from "../live/rows.ts";
import { Traffic } from "../live/traffic.ts";
import type { ServedVolume } from "../served-volume.ts";
import type { ServedServer } from "../server.ts";
import { VERSION } from "../version.ts";
import { type DiskFacts, type VolumeFacts, serverHead, volumeProblem } from "./server-head.ts";

/** Time for which a disk's answer counts. */
const SPACE_MS = 2_000;

export interface OverviewDeps {
  clock: Clock;
  server: Pick<ServedServer, "served" | "url" | "carried">;
  devices: Pick<DeviceRegistry, "list">;
  live: Live;
  /** The server's own folder. */
  root: Pick<DiskRoot, "space">;
  hostname: string;
  /** Tells whether a volume was made while the server ran. */
  isMade(name: string): boolean;
}

interface KnownSpace {
  atMs: number;
  space: Promise<DiskSpace | undefined>;
}

export class ServerOverview {
  readonly #deps: OverviewDeps;
  readonly #startedMs: number;
  readonly #spaces = new WeakMap<object, KnownSpace>();

  constructor(deps: OverviewDeps) {
    this.#deps = deps;
    this.#startedMs = wallMs(deps.clock);
  }

  /** Rows of all volumes, in the order in which the server has them. */
  async volumes(): Promise<VolumeRow[]> {
    const { devices, live, server } = this.#deps;
    const rights = new Map<string, number>();
    for (const { grants, revokedMs } of devices.list())
      if (revokedMs === undefined) for (const { volume } of grants) rights.set(volume, (rights.get(volume) ?? 0) + 1);
    return Promise.all(
      server.served.list.map((served) =>
        this.#row(served, rights.get(served.name) ?? 0, live.devicesOn(served.name).size),
      ),
    );
  }

  /** The overview, of the rows of all volumes. Who may see it is for its caller. */
  async overview(rows: readonly VolumeRow[]): Promise<Overview> {
    const { clock, devices, live, server, root, hostname } = this.#deps;
    const data = await this.#space(root);
    const on = live.devicesOn();
    on.delete("");
    const facts = server.served.list.map(factsOf);
    const disks: DiskFacts[] = [
      ...(data === undefined ? [] : [{ holds: "the server's data", ...freeOf(data) }]),
      ...rows.flatMap(({ name, freeBytes, totalBytes }) =>
        freeBytes === null || totalBytes === null ? [] : [{ holds: name, freeBytes, totalBytes }],
      ),
    ];
    const transfers = live.transferCount;
    const traffic = new Traffic();
    for (const volume of server.served.list) traffic.add(volume.traffic);
    const { sentBytes, receivedBytes } = server.carried();
    return {
      ...serverHead({ volumes: facts, disks: oncePerDisk(disks), devicesOn: on.size, transfers }),
      server: {
        name: hostname,
        version: VERSION,
        startedMs: Math.min(this.#startedMs, wallMs(clock)),
        url: server.url,
      },
      devicesOn: on.size,
      devices: devices.list().filter(({ revokedMs }) => revokedMs === undefined).length,
      connections: live.connectionCount,
      transfers,
      workedBytes: traffic.savedBytes + traffic.fetchedBytes,
      workedWireBytes: traffic.savedWireBytes + traffic.fetchedWireBytes,
      wireBytes: sentBytes + receivedBytes,
      dataFreeBytes: data?.availableBytes ?? null,
      dataTotalBytes: data?.totalBytes ?? null,
    };
  }

  async #row(served: ServedVolume, devices: number, devicesOn: number): Promise<VolumeRow> {
    const { name, folder, volume, isStopped, traffic } = served;
    const usage = volume?.usage.look();
    const space = volume === undefined ? undefined : await this.#space(volume.content);
    const { savedBytes, savedWireBytes, fetchedBytes, fetchedWireBytes } = traffic;
    const facts = factsOf(served);
    const { state, problem } = volumeProblem(facts);
    return {
      key: name,
      name,
      folder,
      state: facts.isOpening ? "working" : state,
      problem,
      isStopped,
      isMade: this.#deps.isMade(name),
      files: usage?.files ?? null,
      bytes: usage?.bytes ?? null,
      countedMs: usage?.ageMs ?? null,
      freeBytes: space?.availableBytes ?? null,
      totalBytes: space?.totalBytes ?? null,
      devices,
      devicesOn,
      savedBytes,
      savedWireBytes,
      fetchedBytes,
      fetchedWireBytes,
    };
  }

  /** @returns undefined when the disk does not say. */
  #space(of: { space(): Promise<DiskSpace> }): Promise<DiskSpace | undefined> {
    const atMs = this.#deps.clock.bootMs();
    const known = this.#spaces.get(of);
    if (known !== undefined && atMs - known.atMs < SPACE_MS) return known.space;
    const space = of.space().catch(() => undefined);
    this.#spaces.set(of, { atMs, space });
    return space;
  }
}

function factsOf({ name, isStopped, isOpening, unavailable, volume }: ServedVolume): VolumeFacts {
  const { stuck, pendingCommits = 0 } = volume?.content.status() ?? {};
  return { name, isStopped, isOpening, unavailable, stuck, pending: pendingCommits };
}

function freeOf({ availableBytes, totalBytes }: DiskSpace): { freeBytes: number; totalBytes: number } {
  return { freeBytes: availableBytes, totalBytes };
}

/** Several folders may lie on one disk, which gives the same figures. */
function oncePerDisk(disks: readonly DiskFacts[]): DiskFacts[] {
  const byFigures = new Map<string, DiskFacts>();
  for (const disk of disks) {
    const key = `${disk.freeBytes} ${disk.totalBytes}`;
    if (!byFigures.has(key)) byFigures.set(key, disk);
  }
  return [...byFigures.values()];
}
