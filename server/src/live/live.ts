// Shows what goes on in a running server now: connections, open files, leases and who waits for whom, transfers. Read
// from what the wire keeps anyway, when somebody looks.
import { type Clock, RunnelError } from "@runnel/shared";
import type { Actor } from "../audit/audit-entry.ts";
import type { AuditLog } from "../audit/audit-log.ts";
import type { DeviceRegistry } from "../auth/device-registry.ts";
import type { Recall } from "../feed/feed.ts";
import type { Holder } from "../feed/holder.ts";
import type { ServedServer } from "../server.ts";
import type { Volume } from "../volume/volume.ts";
import type { ConnectionHandler } from "../wire/connection-handler.ts";
import { ConnectionRates } from "./connection-rates.ts";
import { Paths } from "./paths.ts";
import type { ConnectionRow, LeaseRow, OpenFileRow, RecallRow, SomeRows, TransferRow } from "./rows.ts";

/** Names that are said of those who wait, or are waited for. */
const NAMES_MAX = 20;
/** Waiting changes that are shown. */
const RECALLS_MAX = 100;

export interface LiveDeps {
  clock: Clock;
  server: Pick<ServedServer, "served" | "connections">;
  devices: Pick<DeviceRegistry, "list">;
  audit: Pick<AuditLog, "perform">;
}

interface Whose {
  device: string;
  name: string;
  person: string;
}

type WhoseOf = (device: string) => Whose;

export class Live {
  readonly #deps: LiveDeps;
  readonly #rates: ConnectionRates;

  constructor(deps: LiveDeps) {
    this.#deps = deps;
    this.#rates = new ConnectionRates(deps.clock);
  }

  /** Lists connections whose device is known, or that are of the server's own user, the oldest first. */
  connections(): ConnectionRow[] {
    const whose = this.#whose();
    return this.#known().map((handler) => this.#connectionRow(handler, whose));
  }

  /** Lists files that clients had open lately, by the connection; `max` at most. */
  async openFiles(max: number): Promise<SomeRows<OpenFileRow>> {
    const whose = this.#whose();
    const paths = this.#paths();
    const rows: OpenFileRow[] = [];
    let omitted = 0;
    for (const handler of this.#known()) {
      for (const { channel, volume, holder, filesRead } of attachmentsOf(handler)) {
        for (const node of filesRead().toSorted((a, b) => a - b)) {
          if (rows.length === max) {
            omitted++;
            continue;
          }
          const path = await paths(volume).of(node);
          const { who, sinceMs } = holder;
          const key = `${handler.id}.${channel}.${node}`;
          rows.push({ key, volume: volume.name, path, ...whose(holder.device), who, sinceMs: sinceMs || null });
        }
      }
    }
    return { rows, omitted };
  }

  /** Lists who follows a volume, or has a lease on it, in the order in which they attached. */
  leases(): LeaseRow[] {
    const whose = this.#whose();
    const nowMs = this.#deps.clock.bootMs();
    const found = this.#deps.server.served.open.flatMap((volume) =>
      volume.feed.list().map((holder) => ({ volume, holder })),
    );
    found.sort((a, b) => a.holder.id - b.holder.id);
    const waits = this.#waitingFor(whose);
    return found.map(({ volume, holder }): LeaseRow => {
      const { id, device, who, sender, followsAll, follows, leaseUntilMs, due } = holder;
      return {
        key: String(id),
        volume: volume.name,
        ...whose(device),
        who,
        isConnected: sender !== undefined,
        folders: followsAll ? null : follows.size,
        leaseMs: Math.max(0, Math.round(leaseUntilMs - nowMs)),
        unacknowledged: due.length,
        waits: [...(waits.get(holder) ?? [])].slice(0, NAMES_MAX),
      };
    });
  }

  /** Lists changes that wait for somebody else's acknowledgement, those that wait longest first. */
  async recalls(): Promise<SomeRows<RecallRow>> {
    const whose = this.#whose();
    const paths = this.#paths();
    const all = this.#recalls().toSorted((a, b) => b.recall.lastsMs - a.recall.lastsMs);
    const rows = await Promise.all(
      all.slice(0, RECALLS_MAX).map(async ({ volume, recall }) => {
        const { committer, node, lastsMs, holders, seq } = recall;
        return {
          key: `${volume.name}/${seq}`,
          volume: volume.name,
          path: node === undefined ? "" : await paths(volume).of(node),
          waiting: whose(committer.device),
          lastsMs: Math.round(lastsMs),
          holders: holders
            .slice(0, NAMES_MAX)
            .map(({ holder, leftMs }) => ({ ...whose(holder.device), leftMs: Math.round(leftMs) })),
        };
      }),
    );
    return { rows, omitted: all.length - rows.length };
  }

  /** Lists contents that move now, by the connection; `max` at most. */
  async transfers(max: number): Promise<SomeRows<TransferRow>> {
    const whose = this.#whose();
    const paths = this.#paths();
    const rows: TransferRow[] = [];
    let omitted = 0;
    for (const handler of this.#known()) {
      const moving = handler.attached.flatMap((attachment) =>
        attachment.moving.map((transfer) => ({ volume: attachment.volume, transfer })),
      );
      for (const { volume, transfer } of moving.toSorted((a, b) => a.transfer.id - b.transfer.id)) {
        if (rows.length === max) {
          omitted++;
          continue;
        }
        const { direction, node, totalBytes, progress } = transfer;
        const reused = direction === "up" ? progress.doneBytes - progress.movedBytes : transfer.reusedBytes;
        rows.push({
          key: `${handler.id}.${transfer.id}`,
          volume: volume.name,
          path: await paths(volume).of(node),
          direction,
          ...whose(handler.deviceId ?? ""),
          doneBytes: Math.min(progress.doneBytes, totalBytes),
          totalBytes,
          reusedBytes: Math.max(0, reused),
          bytesPerSecond: Math.round(transfer.bytesPerSecond()),
        });
      }
    }
    return { rows, omitted };
  }

  get transferCount(): number {
    let count = 0;
    for (const { attached } of this.#known()) for (const { moving } of attached) count += moving.length;
    return count;
  }

  /** Ids of devices that are connected; "" stands for programs of the server's own user. */
  devicesOn(volume?: string): Set<string> {
    const handlers = this.#known().filter(
      ({ attached }) => volume === undefined || attached.some((attachment) => attachment.volume.name === volume),
    );
    return new Set(handlers.map(({ deviceId = "" }) => deviceId));
  }

  get connectionCount(): number {
    return this.#known().length;
  }

  /** Ends a connection; its client may connect again. @throws RunnelError NotFound when there is none of the id. */
  async disconnect(who: Actor, id: string): Promise<void> {
    const handler = this.#known().find((each) => String(each.id) === id);
    const { name } = this.#whose()(handler?.deviceId ?? "");
    const object = name === "" ? (handler?.who ?? id) : `${name} (${handler?.deviceId})`;
    await this.#deps.audit.perform({ who, act: "disconnect", object, detail: handler?.address ?? "" }, async () => {
      if (handler === undefined)
        throw new RunnelError("NotFound", "disconnect", "This connection has ended already. Look at the list again.");
      handler.close(new RunnelError("Busy", "connect", "An administrator has ended the connection."));
    });
  }

  #known(): ConnectionHandler[] {
    return [...this.#deps.server.connections].filter(({ isAuthenticated }) => isAuthenticated);
  }

  #connectionRow(handler: ConnectionHandler, whose: WhoseOf): ConnectionRow {
    const { id, deviceId = "", who, address, attached, sinceMs, requestsWaiting } = handler;
    return {
      key: String(id),
      ...whose(deviceId),
      who,
      address,
      volumes: [...new Set(attached.map(({ volume }) => volume.name))],
      sinceMs,
      ...handler.carried,
      ...this.#rates.of(handler),
      requestsWaiting,
    };
  }

  #recalls(): { volume: Volume; recall: Recall }[] {
    return this.#deps.server.served.open.flatMap((volume) =>
      volume.feed.recalls().map((recall) => ({ volume, recall })),
    );
  }

  /** Names of those who wait, by whom they wait for. */
  #waitingFor(whose: WhoseOf): Map<Holder, Set<string>> {
    const waits = new Map<Holder, Set<string>>();
    for (const { recall } of this.#recalls()) {
      const { device, who } = recall.committer;
      for (const { holder } of recall.holders)
        waits.set(holder, (waits.get(holder) ?? new Set()).add(whose(device).name || who));
    }
    return waits;
  }

  /** Looks up names and persons of devices. */
  #whose(): WhoseOf {
    const devices = new Map(this.#deps.devices.list().map((device) => [device.id, device]));
    return (device) => {
      const { name = "", person = "" } = devices.get(device) ?? {};
      return { device, name, person };
    };
  }

  #paths(): (volume: Volume) => Paths {
    const known = new Map<Volume, Paths>();
    return (volume) => {
      const paths = known.get(volume) ?? new Paths(volume.meta);
      known.set(volume, paths);
      return paths;
    };
  }
}

function attachmentsOf(
  handler: ConnectionHandler,
): { channel: number; volume: Volume; holder: Holder; filesRead(): number[] }[] {
  const attached = handler.attached.map((attachment) => {
    const { channel, volume, holder } = attachment;
    return { channel: channel.id, volume, holder, filesRead: () => attachment.filesRead() };
  });
  return attached.toSorted((a, b) => a.channel - b.channel);
}
