// LOOKUP, REMOVE, RMDIR, RENAME, LINK (RFC 1813, 3.3.3, 3.3.12 to 3.3.15).
import type {
  Nfsv3LinkRequest,
  Nfsv3LinkResponse,
  Nfsv3LookupRequest,
  Nfsv3LookupResponse,
  Nfsv3RemoveRequest,
  Nfsv3RemoveResponse,
  Nfsv3RenameRequest,
  Nfsv3RenameResponse,
} from "@jsonjoy.com/json-pack/lib/nfs/v3/messages.js";
import { postOp, typeOf, wcc } from "../attributes.ts";
import { checkName, checkNewName, type NfsContext, withFound } from "../context.ts";
import type { Reached } from "../node-calls.ts";
import { MAY, isFolder, may, owns } from "../permission.ts";
import { NfsError } from "../status.ts";
import { FTYPE, STATUS } from "../wire/constants.ts";
import type { Credentials } from "../wire/rpc.ts";

const S_ISVTX = 0o1000;

/** @throws NfsError NOTDIR, ACCES */
export function mustChange({ stat }: Reached, who: Credentials): void {
  mustBeFolder(stat);
  if (!may(stat, who, MAY.WRITE | MAY.EXECUTE)) throw new NfsError(STATUS.ACCES);
}

function mustBeFolder(stat: Reached["stat"]): void {
  if (!isFolder(stat)) throw new NfsError(STATUS.NOTDIR);
}

/** Names in a sticky folder are taken by their owners only. @throws NfsError NOTDIR, ACCES */
function mustTake(folder: Reached, { stat }: Reached, who: Credentials): void {
  mustChange(folder, who);
  const isSticky = (folder.stat.mode & S_ISVTX) !== 0;
  if (isSticky && !owns(stat, who) && !owns(folder.stat, who)) throw new NfsError(STATUS.ACCES);
}

export function lookup(
  context: NfsContext,
  who: Credentials,
  { what: { dir, name } }: Nfsv3LookupRequest,
): Promise<Nfsv3LookupResponse> {
  checkName(name);
  const { calls, handles } = context;
  const fsid = handles.fileSystemId();
  return calls.withNode(who, handles.open(dir.data), async (folder) => {
    mustBeFolder(folder.stat);
    if (!may(folder.stat, who, MAY.EXECUTE)) throw new NfsError(STATUS.ACCES);
    const answer = async ({ node, stat }: Reached): Promise<Nfsv3LookupResponse> => ({
      status: STATUS.OK,
      resok: {
        object: { data: handles.seal(node) },
        objAttributes: postOp(stat, fsid),
        dirAttributes: postOp(folder.stat, fsid),
      },
    });
    if (name === ".") return answer(folder);
    if (name === "..") return calls.withParent(who, folder.node, answer);
    return withFound(context, who, folder.id, name, answer);
  });
}

/** REMOVE, or RMDIR. */
export function remove(
  context: NfsContext,
  who: Credentials,
  { object: { dir, name } }: Nfsv3RemoveRequest,
  takesFolder: boolean,
): Promise<Nfsv3RemoveResponse> {
  checkNewName(name, name === ".." ? STATUS.NOTEMPTY : STATUS.INVAL);
  const { calls, handles, files } = context;
  return calls.withNode(who, handles.open(dir.data), async (folder) => {
    const node = await withFound(context, who, folder.id, name, async (found, named) => {
      mustTake(folder, found, who);
      if (isFolder(found.stat) !== takesFolder) throw new NfsError(takesFolder ? STATUS.NOTDIR : STATUS.ISDIR);
      await calls.call(who, "remove", { folder: folder.id, name: named, isFolder: takesFolder });
      return found.stat.nlink > 1 && !takesFolder ? undefined : found.node;
    });
    if (node !== undefined) await files.close(node);
    const dirWcc = wcc(await calls.statOf(who, folder.id), handles.fileSystemId());
    return { status: STATUS.OK, resok: { dirWcc } };
  });
}

export function rename(
  context: NfsContext,
  who: Credentials,
  { from, to }: Nfsv3RenameRequest,
): Promise<Nfsv3RenameResponse> {
  checkNewName(from.name, STATUS.INVAL);
  checkNewName(to.name, STATUS.INVAL);
  const { calls, handles, files } = context;
  const fsid = handles.fileSystemId();
  return calls.withNode(who, handles.open(from.dir.data), (fromFolder) =>
    calls.withNode(who, handles.open(to.dir.data), async (toFolder) => {
      const replaced = await findReplaced(context, who, toFolder, to.name);
      await withFound(context, who, fromFolder.id, from.name, async (source, name) => {
        mustTake(fromFolder, source, who);
        mustTake(toFolder, replaced?.found ?? source, who);
        // The name shows to others with what was written before.
        if (typeOf(source.stat) === FTYPE.REG) await files.commit(source.node);
        const toName = replaced?.name ?? to.name;
        const rest = { folder: fromFolder.id, name, toFolder: toFolder.id, toName };
        await calls.call(who, "rename", { ...rest, how: 0 });
      });
      const last = replaced?.found;
      if (last !== undefined && last.stat.nlink === 1) await files.close(last.node);
      const fromDirWcc = wcc(await calls.statOf(who, fromFolder.id), fsid);
      const toDirWcc = wcc(await calls.statOf(who, toFolder.id), fsid);
      return { status: STATUS.OK, resok: { fromDirWcc, toDirWcc } };
    }),
  );
}

/** Finds the file or folder that a rename takes the place of, if any. */
async function findReplaced(
  context: NfsContext,
  who: Credentials,
  folder: Reached,
  name: string,
): Promise<{ found: Reached; name: string } | undefined> {
  try {
    return await withFound(context, who, folder.id, name, async (found, named) => ({ found, name: named }));
  } catch (error) {
    if (error instanceof NfsError && error.status === STATUS.NOENT) return undefined;
    throw error;
  }
}

export function link(
  { calls, handles, files }: NfsContext,
  who: Credentials,
  { file, link: { dir, name } }: Nfsv3LinkRequest,
): Promise<Nfsv3LinkResponse> {
  checkNewName(name);
  const fsid = handles.fileSystemId();
  return calls.withNode(who, handles.open(file.data), (source) =>
    calls.withNode(who, handles.open(dir.data), async (folder) => {
      mustChange(folder, who);
      if (isFolder(source.stat)) throw new NfsError(STATUS.ISDIR);
      if (typeOf(source.stat) === FTYPE.REG) await files.commit(source.node);
      const made = await calls.call(who, "link", { id: source.id, folder: folder.id, name });
      if (made.stat !== undefined) await calls.forget(who, made.stat.id);
      const fileAttributes = postOp(await calls.statOf(who, source.id), fsid);
      const linkDirWcc = wcc(await calls.statOf(who, folder.id), fsid);
      return { status: STATUS.OK, resok: { fileAttributes, linkDirWcc } };
    }),
  );
}
