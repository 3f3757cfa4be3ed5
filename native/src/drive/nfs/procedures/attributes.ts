// GETATTR, SETATTR, ACCESS (RFC 1813, 3.3.1, 3.3.2, 3.3.4).
import type {
  Nfsv3AccessRequest,
  Nfsv3AccessResponse,
  Nfsv3GetattrRequest,
  Nfsv3GetattrResponse,
  Nfsv3SetattrRequest,
  Nfsv3SetattrResponse,
} from "@jsonjoy.com/json-pack/lib/nfs/v3/messages.js";
import type { ProgramStat } from "../../program.ts";
import { type Changes, changesOf, fattrOf, postOp, typeOf, wcc } from "../attributes.ts";
import type { NfsContext } from "../context.ts";
import type { Reached } from "../node-calls.ts";
import { accessOf, MAY, may, mayWrite, owns } from "../permission.ts";
import { NfsError } from "../status.ts";
import { FTYPE, STATUS, TIME_HOW } from "../wire/constants.ts";
import type { Credentials } from "../wire/rpc.ts";

export function getattr(
  { calls, handles }: NfsContext,
  who: Credentials,
  { object }: Nfsv3GetattrRequest,
): Promise<Nfsv3GetattrResponse> {
  return calls.withNode(who, handles.open(object.data), async ({ stat }) => ({
    status: STATUS.OK,
    resok: { objAttributes: fattrOf(stat, handles.fileSystemId()) },
  }));
}

export function access(
  { calls, handles }: NfsContext,
  who: Credentials,
  { object, access: asked }: Nfsv3AccessRequest,
): Promise<Nfsv3AccessResponse> {
  return calls.withNode(who, handles.open(object.data), async ({ stat }) => ({
    status: STATUS.OK,
    resok: { objAttributes: postOp(stat, handles.fileSystemId()), access: accessOf(stat, who, asked) },
  }));
}

export function setattr(
  context: NfsContext,
  who: Credentials,
  { object, newAttributes, guard }: Nfsv3SetattrRequest,
): Promise<Nfsv3SetattrResponse> {
  const { calls, handles, clock } = context;
  const fsid = handles.fileSystemId();
  const { atime, mtime } = newAttributes;
  const onlyTouches = atime.how !== TIME_HOW.CLIENT && mtime.how !== TIME_HOW.CLIENT;
  const changes = changesOf(newAttributes, clock.wallNs());
  return calls.withNode(who, handles.open(object.data), async (reached) => {
    const { ctime } = fattrOf(reached.stat, fsid);
    const { objCtime } = guard;
    if (objCtime !== undefined && (objCtime.seconds !== ctime.seconds || objCtime.nseconds !== ctime.nseconds))
      throw new NfsError(STATUS.NOT_SYNC);
    const stat = await change(context, who, reached, changes, onlyTouches);
    return { status: STATUS.OK, resok: { objWcc: wcc(stat, fsid) } };
  });
}

/**
 * Changes a node's attributes, durably. `onlyTouches`: times are set to now, if at all, which who may write may do.
 * @throws NfsError
 */
export async function change(
  { calls, files }: NfsContext,
  who: Credentials,
  { id, node, stat }: Reached,
  changes: Changes,
  onlyTouches: boolean,
): Promise<ProgramStat> {
  const kept = withoutWhatIsSo(stat, changes);
  if (Object.keys(kept).length === 0) return stat;
  checkRights(stat, who, kept, onlyTouches);
  if (kept.sizeBytes !== undefined && typeOf(stat) !== FTYPE.REG)
    throw new NfsError(typeOf(stat) === FTYPE.DIR ? STATUS.ISDIR : STATUS.INVAL);
  const { stat: changed } = await calls.call(who, "setattr", { id, ...kept });
  // A file that is being written keeps them until its next commit.
  await files.sync(node);
  return (await calls.statOf(who, id)) ?? changed ?? stat;
}

/** Clients set an owner to what it is when they copy. */
function withoutWhatIsSo(stat: ProgramStat, { uid, gid, ...others }: Changes): Changes {
  return {
    ...others,
    ...(uid === undefined || uid === stat.uid ? {} : { uid }),
    ...(gid === undefined || gid === stat.gid ? {} : { gid }),
  };
}

function checkRights(stat: ProgramStat, who: Credentials, changes: Changes, onlyTouches: boolean): void {
  const { mode, uid, gid, sizeBytes, mtimeNs, atimeNs } = changes;
  const isMember = gid === undefined || who.uid === 0 || who.gid === gid || who.gids.includes(gid);
  if ((uid !== undefined && who.uid !== 0) || !isMember) throw new NfsError(STATUS.PERM);
  if ((mode !== undefined || gid !== undefined) && !owns(stat, who)) throw new NfsError(STATUS.PERM);
  if (sizeBytes !== undefined && !mayWrite(stat, who)) throw new NfsError(STATUS.ACCES);
  if ((mtimeNs === undefined && atimeNs === undefined) || owns(stat, who)) return;
  if (!onlyTouches || !may(stat, who, MAY.WRITE)) throw new NfsError(STATUS.ACCES);
}
