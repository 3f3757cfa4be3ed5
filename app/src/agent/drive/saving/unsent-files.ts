// What could not be sent of a drive, for a person: listed, copied elsewhere, given up; and sent now, for whoever waits for that.
import type { DiskRoot } from "@runnel/shared";
import { RunnelError, fromSystemError } from "@runnel/shared";
import type { ExportedFile, UnsentFile, UnsentFiles } from "../../mount.ts";
import type { Session } from "../../wire/session.ts";
import { type ExportParts, exportUnsent } from "./export-unsent.ts";
import type { Unsent, UnsentItem } from "./unsent.ts";

export interface DriveUnsentFilesParts extends ExportParts {
  unsent: Unsent;
  session: Session;
  openFolder(path: string): Promise<DiskRoot>;
}

export class DriveUnsentFiles implements UnsentFiles {
  private readonly parts: DriveUnsentFilesParts;

  constructor(parts: DriveUnsentFilesParts) {
    this.parts = parts;
  }

  list(): UnsentFile[] {
    return this.parts.unsent.items().map(toUnsentFile);
  }

  /** What is stuck holds up nothing else. @throws Unreachable naming what waits for the server. */
  async send(): Promise<void> {
    const { session, unsent } = this.parts;
    if (unsent.isEmpty) return;
    await unsent.replay();
    const left = session.isResponsive ? unsent.items().filter(({ isStuck }) => !isStuck) : unsent.items();
    const [first] = left;
    if (first === undefined || unsent.isEmpty) return;
    const others = left.length > 1 ? ` and ${left.length - 1} more` : "";
    const why = session.isResponsive ? (first.reason ?? "it is being sent.") : session.why;
    throw new RunnelError("Unreachable", "flush", `${first.record.path}${others} could not be sent yet: ${why}`);
  }

  async exportTo(folder: string, ids: readonly string[]): Promise<ExportedFile[]> {
    const root = await this.parts.openFolder(folder);
    const exported: ExportedFile[] = [];
    try {
      for (const id of ids) {
        const { record } = this.item(id, "export");
        try {
          exported.push({ id, ...(await exportUnsent(this.parts, record, root)), reason: null });
        } catch (error) {
          const { message } = fromSystemError(error, "export");
          exported.push({ id, path: null, isWhole: false, reason: message });
        }
      }
    } finally {
      await root.close();
    }
    return exported;
  }

  async discard(ids: readonly string[]): Promise<void> {
    for (const id of ids) await this.parts.unsent.discard(this.item(id, "discard").record);
  }

  private item(id: string, operation: string): UnsentItem {
    const item = this.parts.unsent.items().find(({ record }) => idOf(record) === id);
    if (item === undefined)
      throw new RunnelError("NotFound", operation, "This content is not unsent any more. List them again.");
    return item;
  }
}

function toUnsentFile({ record, reason, isStuck }: UnsentItem): UnsentFile {
  const { path, copy, sizeBytes, ctimeNs } = record;
  const sinceMs = Number(ctimeNs / 1_000_000n);
  return { id: idOf(record), path: copy?.of ?? path, sizeBytes, sinceMs, reason: reason ?? null, isStuck };
}

function idOf({ instance, n }: UnsentItem["record"]): string {
  return `${instance}/${n}`;
}
