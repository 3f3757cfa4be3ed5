// CREATE, MKDIR, SYMLINK, MKNOD (RFC 1813, 3.3.8 to 3.3.11).
import { constants } from "node:fs";
import type {
  Nfsv3CreateRequest,
  Nfsv3CreateResponse,
  Nfsv3MkdirRequest,
  Nfsv3MkdirResponse,
  Nfsv3MknodRequest,
  Nfsv3MknodResponse,
  Nfsv3SymlinkRequest,
  Nfsv3SymlinkResponse,
} from "@jsonjoy.com/json-pack/lib/nfs/v3/messages.js";
import type { Nfsv3CreateHow, Nfsv3Sattr } from "@jsonjoy.com/json-pack/lib/nfs/v3/structs.js";
import type { ProgramStat } from "../../program.ts";
import { type Changes, changesOf, postOp, rdevOf, typeOf, wcc } from "../attributes.ts";
import { checkNewName, type NfsContext, withFound } from "../context.ts";
import type { Reached } from "../node-calls.ts";
import { NfsError } from "../status.ts";
import { PATH_BYTES_MAX } from "../wire/bounds.ts";
import { CREATE_MODE, FTYPE, STATUS } from "../wire/constants.ts";
import type { Credentials } from "../wire/rpc.ts";
import { change } from "./attributes.ts";
import { mustChange } from "./names.ts";

/** Mode of a file whose maker says none: it sets one with the next call. */
const FIRST_MODE = 0o600;
const FOLDER_MODE = 0o700;
const SYMLINK_MODE = 0o777;
/** Numbers of FILE_TYPES (native-drive.ts). */
const KIND = { FOLDER: 1, SYMLINK: 2, FIFO: 3, SOCKET: 4, BLOCK: 5, CHAR: 6 } as const;
/** Somebody else may make the name, and take it away, between the look and the make. */
const TRIES = 3;

interface Made {
  node: number;
  stat: ProgramStat;
}

/** The response of all four. */
async function madeIn({ calls, handles }: NfsContext, who: Credentials, folder: Reached, { node, stat }: Made) {
  const fsid = handles.fileSystemId();
  return {
    status: STATUS.OK,
    resok: {
      obj: { handleFollows: true, handle: { data: handles.seal(node) } },
      objAttributes: postOp(stat, fsid),
      dirWcc: wcc(await calls.statOf(who, folder.id), fsid),
    },
  };
}

export function create(
  context: NfsContext,
  who: Credentials,
  { where: { dir, name }, how }: Nfsv3CreateRequest,
): Promise<Nfsv3CreateResponse> {
  checkNewName(name);
  if (how.mode > CREATE_MODE.EXCLUSIVE) throw new NfsError(STATUS.INVAL);
  const changes = how.objAttributes === undefined ? {} : changesOf(how.objAttributes, context.clock.wallNs());
  return context.calls.withNode(who, context.handles.open(dir.data), async (folder) => {
    for (let attempt = 1; ; attempt++) {
      const there = await useThere(context, who, folder, { name, how, changes });
      if (there !== undefined) return madeIn(context, who, folder, there);
      try {
        return await madeIn(context, who, folder, await createNew(context, who, folder, { name, how, changes }));
      } catch (error) {
        const isMet = error instanceof NfsError && error.status === STATUS.EXIST;
        if (!isMet || how.mode === CREATE_MODE.GUARDED || attempt === TRIES) throw error;
      }
    }
  });
}

interface Asked {
  name: string;
  how: Nfsv3CreateHow;
  changes: Changes;
}

/** The file that has the name, where that will do; undefined: none has. @throws NfsError EXIST where it will not */
async function useThere(
  context: NfsContext,
  who: Credentials,
  folder: Reached,
  { name, how, changes }: Asked,
): Promise<Made | undefined> {
  try {
    return await withFound(context, who, folder.id, name, async (found) => {
      if (how.mode === CREATE_MODE.EXCLUSIVE && how.verf !== undefined && context.madeOnce.isOf(found.node, how.verf))
        return found;
      if (how.mode !== CREATE_MODE.UNCHECKED || typeOf(found.stat) !== FTYPE.REG) throw new NfsError(STATUS.EXIST);
      // The size alone is set of a file that is there, as with O_TRUNC.
      const { sizeBytes } = changes;
      const cut = sizeBytes === undefined ? {} : { sizeBytes };
      return { node: found.node, stat: await change(context, who, found, cut, true) };
    });
  } catch (error) {
    if (error instanceof NfsError && error.status === STATUS.NOENT) return undefined;
    throw error;
  }
}

async function createNew(
  context: NfsContext,
  who: Credentials,
  folder: Reached,
  { name, how, changes }: Asked,
): Promise<Made> {
  mustChange(folder, who);
  const { calls, files, madeOnce } = context;
  const { mode = FIRST_MODE, ...others } = changes;
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL;
  const { stat, handle } = await calls.call(who, "create", { folder: folder.id, name, mode, flags });
  if (stat === undefined || handle === undefined) throw new NfsError(STATUS.IO);
  const made = { id: stat.id, node: stat.ino, stat };
  try {
    files.adopt(who, { ...made, handle });
    if (how.verf !== undefined) madeOnce.note(made.node, how.verf);
    return { node: made.node, stat: await changeRest(context, who, made, others) };
  } finally {
    await calls.forget(who, made.id);
  }
}

/** Sets what a make does not take with it. */
async function changeRest(
  context: NfsContext,
  who: Credentials,
  made: Reached,
  { sizeBytes, ...others }: Changes,
): Promise<ProgramStat> {
  const size = sizeBytes === undefined || sizeBytes === made.stat.sizeBytes ? {} : { sizeBytes };
  return change(context, who, made, { ...others, ...size }, false);
}

async function make(
  context: NfsContext,
  who: Credentials,
  { dir, name }: { dir: { data: Uint8Array }; name: string },
  what: { type: number; attributes: Nfsv3Sattr; mode: number; target?: string; rdev?: number },
) {
  checkNewName(name);
  const { calls, handles, clock } = context;
  const { type, target = "", rdev = 0 } = what;
  const { mode = what.mode, sizeBytes: _size, ...others } = changesOf(what.attributes, clock.wallNs());
  return calls.withNode(who, handles.open(dir.data), async (folder) => {
    mustChange(folder, who);
    const asked = { folder: folder.id, name, type, mode, rdev, target };
    const { stat } = await calls.call(who, "make", asked);
    if (stat === undefined) throw new NfsError(STATUS.IO);
    const made = { id: stat.id, node: stat.ino, stat };
    try {
      return await madeIn(context, who, folder, {
        node: made.node,
        stat: await change(context, who, made, others, false),
      });
    } finally {
      await calls.forget(who, made.id);
    }
  });
}

export function mkdir(
  context: NfsContext,
  who: Credentials,
  { where, attributes }: Nfsv3MkdirRequest,
): Promise<Nfsv3MkdirResponse> {
  return make(context, who, where, { type: KIND.FOLDER, attributes, mode: FOLDER_MODE });
}

export async function symlink(
  context: NfsContext,
  who: Credentials,
  { where, symlinkAttributes, symlinkData: target }: Nfsv3SymlinkRequest,
): Promise<Nfsv3SymlinkResponse> {
  if (target === "" || target.includes("\0")) throw new NfsError(STATUS.INVAL);
  if (Buffer.byteLength(target) >= PATH_BYTES_MAX) throw new NfsError(STATUS.NAMETOOLONG);
  return make(context, who, where, { type: KIND.SYMLINK, attributes: symlinkAttributes, mode: SYMLINK_MODE, target });
}

export async function mknod(
  context: NfsContext,
  who: Credentials,
  { where, what: { type, chr, blk, sock, pipe } }: Nfsv3MknodRequest,
): Promise<Nfsv3MknodResponse> {
  const mode = FIRST_MODE;
  const device = chr ?? blk;
  if (device !== undefined) {
    if (who.uid !== 0) throw new NfsError(STATUS.PERM);
    const kind = type === FTYPE.CHR ? KIND.CHAR : KIND.BLOCK;
    return make(context, who, where, { type: kind, attributes: device.devAttributes, mode, rdev: rdevOf(device.spec) });
  }
  const attributes = sock ?? pipe;
  if (attributes === undefined) throw new NfsError(STATUS.BADTYPE);
  return make(context, who, where, { type: type === FTYPE.SOCK ? KIND.SOCKET : KIND.FIFO, attributes, mode });
}
