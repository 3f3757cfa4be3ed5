// An audit log on a simulated disk and clock, which can be stopped as by a kill or a power cut and opened again.
import { type Disk, type DiskRoot, SimulatedClock, SimulatedDisk } from "@runnel/shared";
import type { Actor, AuditEntry, NewEntry } from "../../src/audit/audit-entry.ts";
import type { AuditFilter } from "../../src/audit/audit-filter.ts";
import { AUDIT_LIMITS, type AuditFolder, type AuditLimits } from "../../src/audit/audit-limits.ts";
import { AuditLog } from "../../src/audit/audit-log.ts";

export const ADMIN: Actor = { kind: "admin", id: "", name: "root", person: "", address: "" };
export const LAPTOP: Actor = { kind: "device", id: "01234567", name: "laptop", person: "Ada", address: "192.0.2.7" };

export function unauthenticated(address: string): Actor {
  return { kind: "unauthenticated", id: "", name: "", person: "", address };
}

export function right(object: string): NewEntry {
  return { who: ADMIN, act: "right", object, result: "done" };
}

export class AuditRig {
  readonly clock = new SimulatedClock();
  readonly disk: SimulatedDisk;
  readonly warnings: string[] = [];
  readonly limits: AuditLimits;
  log!: AuditLog;
  root!: DiskRoot;

  private constructor(seed: number, limits: Partial<AuditLimits>) {
    this.disk = new SimulatedDisk({ clock: this.clock, seed });
    this.limits = { ...AUDIT_LIMITS, ...limits };
  }

  static async open(limits: Partial<AuditLimits> = {}, seed = 1): Promise<AuditRig> {
    const rig = new AuditRig(seed, limits);
    await rig.start();
    return rig;
  }

  /** A process that starts; one of before is forgotten, as after a kill. */
  async start(): Promise<void> {
    const disk: Disk = this.disk;
    this.root = await disk.openRoot("/server", { permissions: 0o700 });
    const warn = (message: string): void => void this.warnings.push(message);
    this.log = await AuditLog.open({ root: this.root, clock: this.clock, warn, limits: this.limits });
  }

  async restart(): Promise<void> {
    await this.log.close();
    await this.start();
  }

  /** Loses what was not synced, by the seed's coin. */
  async powerCut(): Promise<void> {
    this.disk.crash();
    await this.start();
  }

  /** All entries that match, the newest first, as pages give them. */
  async entries(filter: AuditFilter = {}): Promise<AuditEntry[]> {
    const all: AuditEntry[] = [];
    for (let after: number | null | undefined; after !== null;) {
      const page = await this.log.page({ ...filter, ...(after === undefined ? {} : { after }) });
      all.push(...page.entries);
      ({ after } = page);
    }
    return all;
  }

  async objects(filter: AuditFilter = {}): Promise<string[]> {
    return (await this.entries(filter)).map(({ object }) => object);
  }

  async files(folder: AuditFolder): Promise<string[]> {
    const names: string[] = [];
    await this.root.list(`audit/${folder}`, (batch) => {
      for (const { name = "" } of batch) names.push(name);
    });
    return names.toSorted();
  }

  async text(path: string): Promise<string> {
    const file = await this.root.open(path, "read");
    const text = Buffer.from(await file.read(0, 64 * 1024 * 1024)).toString();
    await file.close();
    return text;
  }

  async write(path: string, text: string): Promise<void> {
    const file = await this.root.open(path, "create");
    await file.truncate(0);
    await file.write(0, Buffer.from(text));
    await file.close();
  }

  /** The whole log as it lies on the disk. */
  async allText(): Promise<string> {
    let text = "";
    for (const folder of ["acts", "devices", "unauthenticated"] as const)
      for (const name of await this.files(folder).catch(() => [])) text += await this.text(`audit/${folder}/${name}`);
    return text;
  }
}
