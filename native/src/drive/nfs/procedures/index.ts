// The procedures of NFS version 3 by their numbers (RFC 1813, section 3.3).
import type * as messages from "@jsonjoy.com/json-pack/lib/nfs/v3/messages.js";
import type { NfsContext } from "../context.ts";
import { NFS_PROC } from "../wire/constants.ts";
import type { Credentials } from "../wire/rpc.ts";
import { access, getattr, setattr } from "./attributes.ts";
import { commit, read, readlink, write } from "./contents.ts";
import { fsinfo, fsstat, pathconf } from "./file-system.ts";
import { readdir, readdirplus } from "./folders.ts";
import { create, mkdir, mknod, symlink } from "./making.ts";
import { link, lookup, remove, rename } from "./names.ts";

export interface Procedure {
  carryOut(context: NfsContext, who: Credentials, request: messages.Nfsv3Request): Promise<messages.Nfsv3Response>;
  /** A second time would do something else than the first. */
  isOnce: boolean;
  /** A kernel asks it as root, for whoever mounts. */
  isForRoot: boolean;
}

/** The codec gives each procedure the request of its number. */
function procedure<R extends messages.Nfsv3Request>(
  carryOut: (context: NfsContext, who: Credentials, request: R) => Promise<messages.Nfsv3Response>,
  { isOnce = false, isForRoot = false } = {},
): Procedure {
  return { carryOut: async (context, who, request) => carryOut(context, who, request as R), isOnce, isForRoot };
}

const once = { isOnce: true };
const forRoot = { isForRoot: true };

export const PROCEDURES: ReadonlyMap<number, Procedure> = new Map([
  [NFS_PROC.GETATTR, procedure(getattr, forRoot)],
  [NFS_PROC.SETATTR, procedure(setattr, once)],
  [NFS_PROC.LOOKUP, procedure(lookup)],
  [NFS_PROC.ACCESS, procedure(access)],
  [NFS_PROC.READLINK, procedure(readlink)],
  [NFS_PROC.READ, procedure(read)],
  [NFS_PROC.WRITE, procedure(write)],
  [NFS_PROC.CREATE, procedure(create, once)],
  [NFS_PROC.MKDIR, procedure(mkdir, once)],
  [NFS_PROC.SYMLINK, procedure(symlink, once)],
  [NFS_PROC.MKNOD, procedure(mknod, once)],
  [
    NFS_PROC.REMOVE,
    procedure<messages.Nfsv3RemoveRequest>((context, who, request) => remove(context, who, request, false), once),
  ],
  [
    NFS_PROC.RMDIR,
    procedure<messages.Nfsv3RmdirRequest>((context, who, request) => remove(context, who, request, true), once),
  ],
  [NFS_PROC.RENAME, procedure(rename, once)],
  [NFS_PROC.LINK, procedure(link, once)],
  [NFS_PROC.READDIR, procedure(readdir)],
  [NFS_PROC.READDIRPLUS, procedure(readdirplus)],
  [NFS_PROC.FSSTAT, procedure(fsstat, forRoot)],
  [NFS_PROC.FSINFO, procedure(fsinfo, forRoot)],
  [NFS_PROC.PATHCONF, procedure(pathconf, forRoot)],
  [NFS_PROC.COMMIT, procedure(commit)],
]);
