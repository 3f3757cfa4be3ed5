// FSSTAT, FSINFO, PATHCONF (RFC 1813, 3.3.18 to 3.3.20).
import type {
  Nfsv3FsinfoRequest,
  Nfsv3FsinfoResponse,
  Nfsv3FsstatRequest,
  Nfsv3FsstatResponse,
  Nfsv3PathconfRequest,
  Nfsv3PathconfResponse,
} from "@jsonjoy.com/json-pack/lib/nfs/v3/messages.js";
import { postOp } from "../attributes.ts";
import type { NfsContext } from "../context.ts";
import { NfsError } from "../status.ts";
import { FILE_BYTES_MAX, NAME_BYTES_MAX, PAGE_BYTES_MAX, TRANSFER_BYTES_MAX } from "../wire/bounds.ts";
import { FSF, STATUS } from "../wire/constants.ts";
import type { Credentials } from "../wire/rpc.ts";

/** Alignment that a client should keep to, so that what it writes begins where a page does. */
const MULTIPLE_BYTES = 4096;
/** LINK_MAX of ext4. */
const LINKS_MAX = 65_000;

export function fsstat(
  { calls, handles }: NfsContext,
  who: Credentials,
  { fsroot }: Nfsv3FsstatRequest,
): Promise<Nfsv3FsstatResponse> {
  return calls.withNode(who, handles.open(fsroot.data), async ({ stat }) => {
    const { space } = await calls.call(who, "statfs", {});
    if (space === undefined) throw new NfsError(STATUS.IO);
    return {
      status: STATUS.OK,
      resok: {
        objAttributes: postOp(stat, handles.fileSystemId()),
        tbytes: BigInt(space.totalBytes),
        fbytes: BigInt(space.freeBytes),
        abytes: BigInt(space.availableBytes),
        tfiles: BigInt(space.totalFiles),
        ffiles: BigInt(space.freeFiles),
        afiles: BigInt(space.freeFiles),
        invarsec: 0,
      },
    };
  });
}

export function fsinfo(
  { calls, handles }: NfsContext,
  who: Credentials,
  { fsroot }: Nfsv3FsinfoRequest,
): Promise<Nfsv3FsinfoResponse> {
  return calls.withNode(who, handles.open(fsroot.data), async ({ stat }) => ({
    status: STATUS.OK,
    resok: {
      objAttributes: postOp(stat, handles.fileSystemId()),
      rtmax: TRANSFER_BYTES_MAX,
      rtpref: TRANSFER_BYTES_MAX,
      rtmult: MULTIPLE_BYTES,
      wtmax: TRANSFER_BYTES_MAX,
      wtpref: TRANSFER_BYTES_MAX,
      wtmult: MULTIPLE_BYTES,
      dtpref: PAGE_BYTES_MAX,
      maxfilesize: BigInt(FILE_BYTES_MAX),
      timeDelta: { seconds: 0, nseconds: 1 },
      properties: FSF.LINK | FSF.SYMLINK | FSF.HOMOGENEOUS | FSF.CANSETTIME,
    },
  }));
}

export function pathconf(
  { calls, handles }: NfsContext,
  who: Credentials,
  { object }: Nfsv3PathconfRequest,
): Promise<Nfsv3PathconfResponse> {
  return calls.withNode(who, handles.open(object.data), async ({ stat }) => ({
    status: STATUS.OK,
    resok: {
      objAttributes: postOp(stat, handles.fileSystemId()),
      linkmax: LINKS_MAX,
      namemax: NAME_BYTES_MAX,
      noTrunc: true,
      chownRestricted: true,
      caseInsensitive: false,
      casePreserving: true,
    },
  }));
}
