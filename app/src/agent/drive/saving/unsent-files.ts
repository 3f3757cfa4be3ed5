// Lists, for a person, what could not be sent of a drive, copies it elsewhere, gives it up; and sends it now, for
// whoever waits for that.
import type { DiskRoot } from "@runnel/shared";
import { RunnelError, fromSystemError } from "@runnel/shared";
import type { ExportedFile, UnsentFiles } from "../../mount.ts";
import type { UnsentFile } from "../../mount-status.ts";
import type { Session } from "../../wire/session.ts";
import { type ExportDeps, exportUnsent } from "./export-unsent.ts";
import type { UnsentItem } from "./unsent-item.ts";
import type { UnsentSaves } from "./unsent.ts";

export interface DriveUnsentFilesDeps extends ExportDeps {
  unsent: UnsentSaves;
  session: Session;
  openFolder(path: string): Promise<DiskRoot>;
}

export class DriveUnsentFiles implements UnsentFiles {
  readonly #deps: DriveUnsentFilesDeps;

  constructor(deps: DriveUnsentFilesDeps) {
    this.#deps = deps;
  }

  list(): UnsentFile[] {
    return this.#deps.unsent.items().map(toUnsentFile);
  }

  /**
   * Sends what can be sent: what is stuck, or paused, blocks nothing else. @throws Unreachable naming what waits for
   * the server.
   */
  async send(): Promise<void> {
    const { session, unsent } = this.#deps;
    if (unsent.isEmpty) return;
    await unsent.replay();
    const items = unsent.items().filter(({ isHeld }) => !isHeld);
    const left = session.isResponsive ? items.filter(({ isStuck }) => !isStuck) : items;
    const [first] = left;
    if (first === undefined || unsent.isEmpty) return;
    const others = left.length > 1 ? ` and ${left.length - 1} more` : "";
    const why = session.isResponsive ? (first.reason ?? "it is being sent.") : session.why;
    throw new RunnelError("Unreachable", "flush", `${first.record.path}${others} could not be sent yet: ${why}`);
  }

  async exportTo(folder: string, ids: readonly string[]): Promise<ExportedFile[]> {
    const root = await this.#deps.openFolder(folder);
    const exported: ExportedFile[] = [];
    try {
      for (const id of ids) {
        const { record } = this.#item(id, "export");
        try {
          exported.push({ id, ...(await exportUnsent(this.#deps, record, root)), reason: null });
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
    for (const id of ids) await this.#deps.unsent.discard(this.#item(id, "discard").record);
  }

  #item(id: string, operation: string): UnsentItem {
    const item = this.#deps.unsent.items().find(({ record }) => idOf(record) === id);
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
