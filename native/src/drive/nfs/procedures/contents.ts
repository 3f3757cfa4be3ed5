// READ, WRITE, COMMIT, READLINK (RFC 1813, 3.3.5 to 3.3.7, 3.3.21).
import type {
  Nfsv3CommitRequest,
  Nfsv3CommitResponse,
  Nfsv3ReadlinkRequest,
  Nfsv3ReadlinkResponse,
  Nfsv3ReadRequest,
  Nfsv3ReadResponse,
  Nfsv3WriteRequest,
  Nfsv3WriteResponse,
} from "@jsonjoy.com/json-pack/lib/nfs/v3/messages.js";
import type { ProgramStat } from "../../program.ts";
import { postOp, typeOf, wcc } from "../attributes.ts";
import type { NfsContext } from "../context.ts";
import { mayRead, mayWrite } from "../permission.ts";
import { NfsError } from "../status.ts";
import { FILE_BYTES_MAX, TRANSFER_BYTES_MAX } from "../wire/bounds.ts";
import { FTYPE, STABLE, STATUS } from "../wire/constants.ts";
import type { Credentials } from "../wire/rpc.ts";

/** @throws NfsError ISDIR, INVAL */
function mustBeFile(stat: ProgramStat): void {
  const type = typeOf(stat);
  if (type !== FTYPE.REG) throw new NfsError(type === FTYPE.DIR ? STATUS.ISDIR : STATUS.INVAL);
}

export function read(
  { calls, handles, files }: NfsContext,
  who: Credentials,
  { file, offset, count }: Nfsv3ReadRequest,
): Promise<Nfsv3ReadResponse> {
  return calls.withNode(who, handles.open(file.data), async (reached) => {
    mustBeFile(reached.stat);
    if (!mayRead(reached.stat, who)) throw new NfsError(STATUS.ACCES);
    // Nothing lies behind the end of any file.
    const at = Number(offset < FILE_BYTES_MAX ? offset : BigInt(FILE_BYTES_MAX));
    const length = Math.min(count, TRANSFER_BYTES_MAX);
    const { data = new Uint8Array() } = await files.use(who, reached, false, (handle) =>
      calls.call(who, "read", { id: reached.id, handle, offset: at, length }),
    );
    const stat = (await calls.statOf(who, reached.id)) ?? reached.stat;
    const eof = at + data.length >= stat.sizeBytes;
    const fileAttributes = postOp(stat, handles.fileSystemId());
    return { status: STATUS.OK, resok: { fileAttributes, count: data.length, eof, data } };
  });
}

export function write(
  { calls, handles, files, verifier }: NfsContext,
  who: Credentials,
  { file, offset, count, stable, data }: Nfsv3WriteRequest,
): Promise<Nfsv3WriteResponse> {
  if (count !== data.length || stable > STABLE.FILE_SYNC) throw new NfsError(STATUS.INVAL);
  if (offset + BigInt(count) > BigInt(FILE_BYTES_MAX)) throw new NfsError(STATUS.FBIG);
  return calls.withNode(who, handles.open(file.data), async (reached) => {
    mustBeFile(reached.stat);
    if (!mayWrite(reached.stat, who)) throw new NfsError(STATUS.ACCES);
    const { written } = await files.use(who, reached, true, (handle) =>
      calls.call(who, "write", { id: reached.id, handle, offset: Number(offset), data }),
    );
    if (stable !== STABLE.UNSTABLE) await files.commit(reached.node);
    const stat = await calls.statOf(who, reached.id);
    const fileWcc = wcc(stat, handles.fileSystemId(), reached.stat);
    const committed = stable === STABLE.UNSTABLE ? STABLE.UNSTABLE : STABLE.FILE_SYNC;
    return { status: STATUS.OK, resok: { fileWcc, count: written, committed, verf: verifier } };
  });
}

/** Commits the whole file, whatever part is asked for. */
export function commit(
  { calls, handles, files, verifier }: NfsContext,
  who: Credentials,
  { file }: Nfsv3CommitRequest,
): Promise<Nfsv3CommitResponse> {
  return calls.withNode(who, handles.open(file.data), async ({ id, node, stat }) => {
    mustBeFile(stat);
    await files.commit(node);
    const fileWcc = wcc(await calls.statOf(who, id), handles.fileSystemId());
    return { status: STATUS.OK, resok: { fileWcc, verf: verifier } };
  });
}

export function readlink(
  { calls, handles }: NfsContext,
  who: Credentials,
  { symlink }: Nfsv3ReadlinkRequest,
): Promise<Nfsv3ReadlinkResponse> {
  return calls.withNode(who, handles.open(symlink.data), async ({ id, stat }) => {
    if (typeOf(stat) !== FTYPE.LNK) throw new NfsError(STATUS.INVAL);
    const { data } = await calls.call(who, "readlink", { id });
    const symlinkAttributes = postOp(stat, handles.fileSystemId());
    return { status: STATUS.OK, resok: { symlinkAttributes, data: new TextDecoder().decode(data) } };
  });
}
