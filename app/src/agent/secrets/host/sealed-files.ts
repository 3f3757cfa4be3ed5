// A token store of files, one a secret, each sealed by what only this user can open. A copy of the folder is of no use
// elsewhere.
/* oxlint-disable node/no-sync -- one folder, when a person logs in or out */
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fromSystemError, RunnelError } from "@runnel/shared/base";
import { thisSystem } from "../../control/host/this-system.ts";
import type { TokenStore } from "../token-store.ts";

const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;

export interface Seal {
  /** @throws RunnelError when the system gives its key to nobody now. */
  seal(bytes: Uint8Array): Promise<Uint8Array>;
  /** @throws RunnelError Invalid for what is not whole, or was sealed for somebody else. */
  open(sealed: Uint8Array): Promise<Uint8Array>;
}

export interface SealedFilesDeps {
  name: string;
  place: string;
  folder: string;
  seal: Seal;
}

/** Stands before each secret: no system seals nothing at all. */
const FORM = "1:";
const PROBE = Buffer.from("probe");

export class SealedFiles implements TokenStore {
  readonly name: string;
  readonly place: string;
  readonly #folder: string;
  readonly #seal: Seal;

  constructor({ name, place, folder, seal }: SealedFilesDeps) {
    this.name = name;
    this.place = place;
    this.#folder = folder;
    this.#seal = seal;
  }

  async check(): Promise<void> {
    const opened = await this.#asked(async () => this.#seal.open(await this.#seal.seal(PROBE)));
    if (!PROBE.equals(opened)) throw unreachable(`The system's key does not open what it has sealed.`);
  }

  async get(id: string): Promise<string | undefined> {
    let sealed: Buffer;
    try {
      sealed = await readFile(this.#path(id));
    } catch (error) {
      const known = fromSystemError(error, "read a secret");
      if (known.kind === "NotFound") return undefined;
      throw unreachable(known.message, error);
    }
    const text = Buffer.from(await this.#asked(() => this.#seal.open(sealed))).toString();
    if (!text.startsWith(FORM)) throw unreachable(`What ${this.#path(id)} holds is of a newer Runnel.`);
    return text.slice(FORM.length);
  }

  async put(id: string, secret: string): Promise<void> {
    const path = this.#path(id);
    const sealed = await this.#asked(() => this.#seal.seal(Buffer.from(`${FORM}${secret}`)));
    try {
      await mkdir(this.#folder, { mode: PRIVATE_FOLDER, recursive: true });
      await writeFile(`${path}.new`, sealed, { mode: PRIVATE_FILE, flush: true });
      thisSystem.replace(`${path}.new`, path);
      thisSystem.syncFolder(this.#folder);
    } catch (error) {
      throw fromSystemError(error, "keep a secret");
    }
  }

  async remove(id: string): Promise<void> {
    const path = this.#path(id);
    try {
      await rm(`${path}.new`, { force: true });
      await rm(path, { force: true });
      if (existsSync(this.#folder)) thisSystem.syncFolder(this.#folder);
    } catch (error) {
      throw unreachable(fromSystemError(error, "remove a secret").message, error);
    }
  }

  #path(id: string): string {
    return join(this.#folder, `${id}.sealed`);
  }

  async #asked<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      throw unreachable(`${this.place} does not open here: ${fromSystemError(error, "open a secret").message}`, error);
    }
  }
}

function unreachable(sentence: string, cause?: unknown): RunnelError {
  return new RunnelError("Unreachable", "use a secret", sentence, { cause });
}
