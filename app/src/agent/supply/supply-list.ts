// The list of supplies on the disk (docs/FORMAT.md, "Supplies"): folders that a person named, which no index can make
// anew.
import { type DiskRoot, RunnelError, readWhole, replaceWhole } from "@runnel/shared";
import { z } from "zod";
import { SUPPLY_LIMITS } from "@runnel/shared/supply";

const FORMAT = 1;
const NAME = "supplies.json";
/** Name that a list gets which cannot be read. */
const DAMAGED_NAME = "supplies.damaged.json";

const Contents = z.strictObject({
  format: z.literal(FORMAT),
  folders: z.array(z.string().min(1).max(SUPPLY_LIMITS.pathCharacters)).max(SUPPLY_LIMITS.supplies),
});

export class SupplyList {
  readonly #root: DiskRoot;
  /** Absolute paths. */
  folders: readonly string[];
  /** A sentence where the list was damaged, and is begun anew. */
  readonly damage: string | undefined;

  private constructor(root: DiskRoot, folders: readonly string[], damage?: string) {
    this.#root = root;
    this.folders = folders;
    this.damage = damage;
  }

  /** Reads the list in the agent's home. @throws RunnelError Version when a newer program wrote it. */
  static async open(root: DiskRoot): Promise<SupplyList> {
    const text = await readWhole(root, NAME);
    if (text === undefined) return new SupplyList(root, []);
    const value = parsed(text);
    const format = z.object({ format: z.number() }).safeParse(value).data?.format ?? 0;
    if (format > FORMAT) {
      const sentence = `${root.path}/${NAME} was written by a newer Runnel (format ${format}). Update this one.`;
      throw new RunnelError("Version", "read the supplies", sentence, { detail: { need: format } });
    }
    const checked = Contents.safeParse(value);
    if (checked.success) return new SupplyList(root, checked.data.folders);
    await root.rename(NAME, DAMAGED_NAME, "replace");
    const sentence = `Damaged on this computer's disk: the list of supplies. It is kept as ${root.path}/${DAMAGED_NAME}; name them again.`;
    return new SupplyList(root, [], sentence);
  }

  /** Puts another list in its place; durable when it resolves, and unchanged where that fails. */
  async replace(folders: readonly string[]): Promise<void> {
    await replaceWhole(this.#root, NAME, `${JSON.stringify({ format: FORMAT, folders }, undefined, 1)}\n`);
    this.folders = folders;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
