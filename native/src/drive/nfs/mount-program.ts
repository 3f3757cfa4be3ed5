// MOUNT version 3 (RFC 1813, appendix I): gives the handle of the root, or of a folder below it, to whoever knows the
// path. Nothing is listed: the path begins with a secret.
import { Reader } from "@jsonjoy.com/buffers/lib/Reader.js";
import type {
  MountMntRequest,
  MountResponse,
  MountUmntRequest,
} from "@jsonjoy.com/json-pack/lib/nfs/v3/mount/messages.js";
import { timingSafeEqual } from "node:crypto";
import { checkName, type NfsContext, withFound } from "./context.ts";
import { isFolder } from "./permission.ts";
import { NfsError } from "./status.ts";
import { PATH_BYTES_MAX } from "./wire/bounds.ts";
import { FLAVOR, MOUNT_PROC, STATUS } from "./wire/constants.ts";
import type { Credentials } from "./wire/rpc.ts";

export interface Export {
  /** First part of the path, without a slash. */
  readonly secret: string;
  /**
   * The secret is good once: a kernel shows every user of the machine what is mounted, and so does the command line of
   * who mounts. Where somebody else comes first, the mount fails, and all that was given out ends with the drive.
   */
  readonly isOnce: boolean;
  readonly rootNode: number;
  /** A client says that it has unmounted it; anybody who knows the path may say so. */
  unmounted?(): void;
}

export class MountProgram {
  readonly #context: NfsContext;
  readonly #export: Export;
  #isUsed = false;

  constructor(context: NfsContext, served: Export) {
    this.#context = context;
    this.#export = served;
  }

  /** @returns undefined for a procedure without a result */
  async carryOut(procedure: number, who: Credentials, request: object): Promise<MountResponse | undefined> {
    if (procedure === MOUNT_PROC.MNT) return this.#mount(who, request as MountMntRequest);
    if (procedure === MOUNT_PROC.DUMP) return { mountlist: undefined };
    if (procedure === MOUNT_PROC.EXPORT) return { exports: undefined };
    const isOurs = procedure === MOUNT_PROC.UMNTALL || this.#isKnown((request as MountUmntRequest).dirpath);
    if (isOurs) this.#export.unmounted?.();
    return undefined;
  }

  #isKnown(path: string): boolean {
    return isSame(path.split("/").find((name) => name !== "") ?? "", this.#export.secret);
  }

  async #mount(who: Credentials, { dirpath }: MountMntRequest): Promise<MountResponse> {
    try {
      const node = await this.#find(who, dirpath);
      const fhandle = { data: new Reader(this.#context.handles.seal(node)) };
      return { status: STATUS.OK, mountinfo: { fhandle, authFlavors: [FLAVOR.SYS] } };
    } catch (error) {
      return { status: mountStatus(error) };
    }
  }

  /** @throws NfsError */
  async #find(who: Credentials, path: string): Promise<number> {
    if (Buffer.byteLength(path) > PATH_BYTES_MAX) throw new NfsError(STATUS.NAMETOOLONG);
    const [, ...names] = path.split("/").filter((name) => name !== "");
    const { isOnce, rootNode } = this.#export;
    if (!this.#isKnown(path) || (isOnce && this.#isUsed)) throw new NfsError(STATUS.NOENT);
    this.#isUsed = true;
    let node = rootNode;
    for (const name of names) {
      checkName(name);
      node = await this.#context.calls.withNode(who, node, ({ id }) =>
        withFound(this.#context, who, id, name, async (found) => found.node),
      );
    }
    return this.#context.calls.withNode(who, node, async ({ stat }) => {
      if (!isFolder(stat)) throw new NfsError(STATUS.NOTDIR);
      return node;
    });
  }
}

/** mountstat3 has a part of the numbers only. */
const MOUNT_STATUSES = [
  STATUS.PERM,
  STATUS.NOENT,
  STATUS.ACCES,
  STATUS.NOTDIR,
  STATUS.INVAL,
  STATUS.NAMETOOLONG,
] as const;

function mountStatus(error: unknown): (typeof MOUNT_STATUSES)[number] | typeof STATUS.IO {
  const status = error instanceof NfsError ? error.status : STATUS.IO;
  return MOUNT_STATUSES.find((known) => known === status) ?? STATUS.IO;
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
