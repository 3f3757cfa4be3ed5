// Ground that the procedures of NFS work on, and the response of one that fails.
import type { Clock } from "@runnel/shared/model";
import type { Nfsv3PostOpAttr, Nfsv3WccData } from "@jsonjoy.com/json-pack/lib/nfs/v3/structs.js";
import type { NodeCalls, Reached } from "./node-calls.ts";
import type { FileHandles } from "./state/file-handles.ts";
import type { Listings } from "./state/listings.ts";
import type { MadeOnce } from "./state/made-once.ts";
import type { OpenFiles } from "./state/open-files.ts";
import { NfsError } from "./status.ts";
import { NAME_BYTES_MAX } from "./wire/bounds.ts";
import { STATUS, type Status } from "./wire/constants.ts";
import type { Credentials } from "./wire/rpc.ts";

export interface NfsContext {
  calls: NodeCalls;
  files: OpenFiles;
  handles: FileHandles;
  listings: Listings;
  madeOnce: MadeOnce;
  clock: Clock;
  /**
   * Differs in each life of a drive: a client that meets another one sends again what it wrote and has not had
   * committed.
   */
  verifier: Uint8Array;
}

const NO_ATTRIBUTES: Nfsv3PostOpAttr = { attributesFollow: false };
const NO_WCC: Nfsv3WccData = { before: { attributesFollow: false }, after: NO_ATTRIBUTES };

/** A response that only says why; it has the fields of every procedure's. */
export function failed(status: Status) {
  return {
    status,
    resfail: {
      objAttributes: NO_ATTRIBUTES,
      dirAttributes: NO_ATTRIBUTES,
      fileAttributes: NO_ATTRIBUTES,
      symlinkAttributes: NO_ATTRIBUTES,
      objWcc: NO_WCC,
      fileWcc: NO_WCC,
      dirWcc: NO_WCC,
      fromDirWcc: NO_WCC,
      toDirWcc: NO_WCC,
      linkDirWcc: NO_WCC,
    },
  };
}

/** Refuses what is no name of anything. @throws NfsError INVAL, NAMETOOLONG */
export function checkName(name: string): void {
  if (name === "" || name.includes("/") || name.includes("\0")) throw new NfsError(STATUS.INVAL);
  if (Buffer.byteLength(name) > NAME_BYTES_MAX) throw new NfsError(STATUS.NAMETOOLONG);
}

/** Refuses also the names that every folder has. @throws NfsError `status` for those */
export function checkNewName(name: string, status: Status = STATUS.EXIST): void {
  checkName(name);
  if (name === "." || name === "..") throw new NfsError(status);
}

const ASCII = /^\p{ASCII}*$/u;

/**
 * Finds a name of a folder: as it is given, or else in another Unicode normal form, since clients of one machine differ
 * in how they write an accent. @throws NfsError
 */
export async function withFound<T>(
  { calls }: NfsContext,
  who: Credentials,
  folder: number,
  name: string,
  what: (found: Reached, name: string) => Promise<T>,
): Promise<T> {
  const others = ASCII.test(name) ? [] : [name.normalize("NFC"), name.normalize("NFD")];
  for (const form of new Set([name, ...others])) {
    const found = await calls.findName(who, folder, form);
    if (found === undefined) continue;
    try {
      return await what(found, form);
    } finally {
      await calls.forget(who, found.id);
    }
  }
  throw new NfsError(STATUS.NOENT);
}
