// The list of a drive's pins on the disk (docs/FORMAT.md, "Pins"): what a person asked for, which no index can make
// anew.
import { type DiskRoot, RunnelError, readWhole, replaceWhole } from "@runnel/shared";
import { z } from "zod";

const FORMAT = 1;
const NAME = "pins.json";
/** Name that a list gets which cannot be read. */
const DAMAGED_NAME = "pins.damaged.json";
/** Pins of one drive. */
export const PINS_MAX = 256;

const Pin = z.strictObject({
  /** 0: nothing is there now. */
  node: z.int().nonnegative(),
  /** Path in the drive, "" for all of it: where it was when that was last known. */
  path: z.string(),
});
/** A file or folder that is kept here: it goes with its node, or else with its path. */
export type Pin = z.infer<typeof Pin>;

const Contents = z.strictObject({ format: z.literal(FORMAT), epoch: z.string(), pins: z.array(Pin).max(PINS_MAX) });

export class PinList {
  readonly #root: DiskRoot;
  /** Epoch of the volume that the nodes are of. */
  epoch: string;
  /** Each with a path of its own. */
  pins: readonly Pin[];
  /** A sentence where the list was damaged, and is begun anew. */
  readonly damage: string | undefined;

  private constructor(root: DiskRoot, found: z.infer<typeof Contents> | undefined, damage?: string) {
    this.#root = root;
    this.epoch = found?.epoch ?? "";
    this.pins = found?.pins ?? [];
    this.damage = damage;
  }

  /** Reads the list in the folder of a mount's state. @throws RunnelError Version when a newer program wrote it. */
  static async open(root: DiskRoot): Promise<PinList> {
    const text = await readWhole(root, NAME);
    if (text === undefined) return new PinList(root, undefined);
    const value = parsed(text);
    const format = z.object({ format: z.number() }).safeParse(value).data?.format ?? 0;
    if (format > FORMAT) {
      const sentence = `${root.path}/${NAME} was written by a newer Runnel (format ${format}). Update this one.`;
      throw new RunnelError("Version", "read the pins", sentence, { detail: { need: format } });
    }
    const checked = Contents.safeParse(value);
    if (checked.success) return new PinList(root, checked.data);
    await root.rename(NAME, DAMAGED_NAME, "replace");
    const sentence = `Damaged on this computer's disk: the list of what is pinned. It is kept as ${root.path}/${DAMAGED_NAME}; pin again what is to be kept here.`;
    return new PinList(root, undefined, sentence);
  }

  /** Puts another list in its place; durable when it resolves, and unchanged where that fails. */
  async replace(epoch: string, pins: readonly Pin[]): Promise<void> {
    await replaceWhole(this.#root, NAME, `${JSON.stringify({ format: FORMAT, epoch, pins }, undefined, 1)}\n`);
    this.epoch = epoch;
    this.pins = pins;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
