// Records of what drives show of a node, for what the file system gives no extended attributes of ours: symlinks, pipes
// and sockets, and every file where it has none at all [F168]. Each is a small file in the store, named by the kernel's
// file handle: it follows the file wherever that is moved, and tells of no other one, since no handle is used twice. A
// damaged or missing record shows the node as the disk has it.
import type { DiskRoot } from "@runnel/shared";
import { isRunnelError, readWhole, writeWhole } from "@runnel/shared";
import { removeIfThere } from "./found.ts";
import { SHOWN_FOLDER, STORE_FOLDER, STORE_FOLDER_MODE, TEMP_FOLDER, joinPath } from "./store-layout.ts";

const RECORD_BYTES_MAX = 4096;
/** A name may have 255 bytes, on its way six more stand before it. No file system is known to need more. */
const NAME_LENGTH_MAX = 240;
const NAME = /^(?:[0-9a-f]{2})+$/;
/** Records without a file that are remembered between two sweeps; about 100 bytes each. */
const SUSPECTS_MAX = 100_000;
/** New records after which those of files that went are looked for. */
const SWEEP_RECORDS = 1000;
const SWEEP_TURNS = 60;

export class ShownRecords {
  readonly #root: DiskRoot;
  #mayHaveAny = true;
  #isUnsynced = false;
  #putSinceSweep = 0;
  #turnsToSweep = 0;
  /** Names of records whose file was not known when they were last looked through. */
  #suspects = new Set<string>();

  constructor(root: DiskRoot) {
    this.#root = root;
  }

  /** Tells whether some may have to be looked for. */
  get mayHaveAny(): boolean {
    return this.#mayHaveAny;
  }

  /** Finds whether there are any. */
  async start(): Promise<void> {
    let count = 0;
    await this.#list(async (names) => void (count += names.length));
    this.#mayHaveAny = count > 0;
  }

  async read(handle: Uint8Array): Promise<Uint8Array | undefined> {
    const name = nameOf(handle);
    if (!this.#mayHaveAny || name === undefined) return undefined;
    const text = await readWhole(this.#root, joinPath(SHOWN_FOLDER, name), RECORD_BYTES_MAX);
    return text === undefined ? undefined : Buffer.from(text);
  }

  /** Durable, but for its name: `sync` makes that so. */
  async put(handle: Uint8Array, value: Uint8Array): Promise<void> {
    const name = nameOf(handle);
    if (name === undefined) return;
    const temp = joinPath(TEMP_FOLDER, `shown-${name}`);
    await writeWhole(this.#root, temp, value, { isSynced: true });
    this.#mayHaveAny = true;
    this.#isUnsynced = true;
    this.#putSinceSweep += 1;
    try {
      await this.#root.rename(temp, joinPath(SHOWN_FOLDER, name), "replace");
    } catch (error) {
      if (!isRunnelError(error, "NotFound")) throw error;
      await this.#root.makeFolder(SHOWN_FOLDER, STORE_FOLDER_MODE);
      await this.#root.syncFolder(STORE_FOLDER);
      await this.#root.rename(temp, joinPath(SHOWN_FOLDER, name), "replace");
    }
  }

  /** Forgets what was said of a file: the disk has it all, or the file goes. */
  async remove(handle: Uint8Array): Promise<void> {
    const name = nameOf(handle);
    if (this.#mayHaveAny && name !== undefined) await removeIfThere(this.#root, joinPath(SHOWN_FOLDER, name));
  }

  /** Makes the names of what was put so far durable. */
  async sync(): Promise<void> {
    if (!this.#isUnsynced) return;
    this.#isUnsynced = false;
    try {
      await this.#root.syncFolder(SHOWN_FOLDER);
    } catch (error) {
      this.#isUnsynced = true;
      throw error;
    }
  }

  /** Called now and then: tells whether records of files that went are to be looked for now. */
  isSweepDue(): boolean {
    if (!this.#mayHaveAny) return false;
    this.#turnsToSweep -= 1;
    return this.#turnsToSweep < 0 || this.#putSinceSweep >= SWEEP_RECORDS;
  }

  /**
   * Removes the records whose file is not known, neither now nor when they were last looked through: one that is being
   * moved may be unknown for a moment. `inTurn` runs some of the work.
   */
  async sweep(
    isKnown: (handle: Uint8Array) => Promise<boolean>,
    inTurn: (work: () => Promise<void>) => Promise<void>,
  ): Promise<void> {
    const before = this.#suspects;
    const unknown = new Set<string>();
    this.#putSinceSweep = 0;
    await this.#list((names) =>
      inTurn(async () => {
        for (const name of names) {
          if (NAME.test(name) && (await isKnown(Buffer.from(name, "hex")))) continue;
          if (before.has(name)) await removeIfThere(this.#root, joinPath(SHOWN_FOLDER, name));
          else if (unknown.size < SUSPECTS_MAX) unknown.add(name);
        }
      }),
    );
    this.#suspects = unknown;
    this.#turnsToSweep = unknown.size > 0 ? 0 : SWEEP_TURNS;
  }

  async #list(visit: (names: string[]) => Promise<void>): Promise<void> {
    try {
      await this.#root.list(SHOWN_FOLDER, (entries) =>
        visit(entries.flatMap(({ name }) => (name === undefined ? [] : [name]))),
      );
    } catch (error) {
      if (!isRunnelError(error, "NotFound", "NotFolder")) throw error;
    }
  }
}

/** @returns undefined for a handle that is no name. */
function nameOf(handle: Uint8Array): string | undefined {
  const name = Buffer.from(handle.buffer, handle.byteOffset, handle.byteLength).toString("hex");
  return name.length === 0 || name.length > NAME_LENGTH_MAX ? undefined : name;
}
