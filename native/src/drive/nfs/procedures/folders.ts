// READDIR, READDIRPLUS (RFC 1813, 3.3.16, 3.3.17).
import type {
  Nfsv3ReaddirplusRequest,
  Nfsv3ReaddirplusResponse,
  Nfsv3ReaddirRequest,
  Nfsv3ReaddirResponse,
} from "@jsonjoy.com/json-pack/lib/nfs/v3/messages.js";
import type { Nfsv3Entry, Nfsv3EntryPlus } from "@jsonjoy.com/json-pack/lib/nfs/v3/structs.js";
import { postOp } from "../attributes.ts";
import type { NfsContext } from "../context.ts";
import type { Reached } from "../node-calls.ts";
import { isFolder, MAY, may } from "../permission.ts";
import type { ListedName } from "../state/listings.ts";
import { NfsError } from "../status.ts";
import { PAGE_BYTES_MAX } from "../wire/bounds.ts";
import { STATUS } from "../wire/constants.ts";
import type { Credentials } from "../wire/rpc.ts";

/** Cookies hold whatever becomes of the folder, so that they need no verifier. */
const NO_VERIFIER = new Uint8Array(8);
/** Status, attributes of the folder, verifier, end of the list, eof. */
const PAGE_HEAD_BYTES = 4 + 88 + 8 + 4 + 4;
/** "Another follows", number, length of the name, cookie. */
const ENTRY_BYTES = 4 + 8 + 4 + 8;
/** Attributes and a handle, each with its mark. */
const PLUS_BYTES = 88 + 4 + 4 + 32;

const entryBytes = ({ name }: ListedName): number => ENTRY_BYTES + Math.ceil(Buffer.byteLength(name) / 4) * 4;

function mustList({ stat }: Reached, who: Credentials): void {
  if (!isFolder(stat)) throw new NfsError(STATUS.NOTDIR);
  if (!may(stat, who, MAY.READ)) throw new NfsError(STATUS.ACCES);
}

/** Takes as many names as fit in a page of so many bytes. @throws NfsError TOOSMALL when not even one does */
function page(names: readonly ListedName[], room: { names: number; all: number }, plusBytes: number): ListedName[] {
  const most = Math.min(room.all, PAGE_BYTES_MAX);
  let all = PAGE_HEAD_BYTES;
  let ofNames = 0;
  let count = 0;
  for (const one of names) {
    const bytes = entryBytes(one);
    all += bytes + plusBytes;
    ofNames += bytes;
    if (all > most || (ofNames > room.names && count > 0)) break;
    count += 1;
  }
  if (count === 0 && names.length > 0) throw new NfsError(STATUS.TOOSMALL);
  return names.slice(0, count);
}

export function readdir(
  { calls, handles, listings }: NfsContext,
  who: Credentials,
  { dir, cookie, count }: Nfsv3ReaddirRequest,
): Promise<Nfsv3ReaddirResponse> {
  return calls.withNode(who, handles.open(dir.data), async (folder) => {
    mustList(folder, who);
    const names = await listings.after(who, folder, cookie);
    const shown = page(names, { names: count, all: count }, 0);
    let entries: Nfsv3Entry | undefined;
    for (const { name, node, cookie: at } of shown.toReversed())
      entries = { fileid: BigInt(node), name, cookie: at, nextentry: entries };
    const reply = { entries, eof: shown.length === names.length };
    const dirAttributes = postOp(folder.stat, handles.fileSystemId());
    return { status: STATUS.OK, resok: { dirAttributes, cookieverf: NO_VERIFIER, reply } };
  });
}

export function readdirplus(
  context: NfsContext,
  who: Credentials,
  { dir, cookie, dircount, maxcount }: Nfsv3ReaddirplusRequest,
): Promise<Nfsv3ReaddirplusResponse> {
  const { calls, handles, listings } = context;
  return calls.withNode(who, handles.open(dir.data), async (folder) => {
    mustList(folder, who);
    const names = await listings.after(who, folder, cookie);
    const shown = page(names, { names: dircount, all: maxcount }, PLUS_BYTES);
    let entries: Nfsv3EntryPlus | undefined;
    for (const one of shown.toReversed()) entries = await entryPlus(context, who, folder, one, entries);
    const reply = { entries, eof: shown.length === names.length };
    const dirAttributes = postOp(folder.stat, handles.fileSystemId());
    return { status: STATUS.OK, resok: { dirAttributes, cookieverf: NO_VERIFIER, reply } };
  });
}

/** An entry before `nextentry`; one whose name has gone since it was listed has no attributes. */
async function entryPlus(
  { calls, handles }: NfsContext,
  who: Credentials,
  folder: Reached,
  { name, node, cookie }: ListedName,
  nextentry: Nfsv3EntryPlus | undefined,
): Promise<Nfsv3EntryPlus> {
  const fsid = handles.fileSystemId();
  const entry = (found: Reached | undefined): Nfsv3EntryPlus => ({
    fileid: BigInt(found?.node ?? node),
    name,
    cookie,
    nameAttributes: postOp(found?.stat, fsid),
    nameHandle:
      found === undefined
        ? { handleFollows: false }
        : { handleFollows: true, handle: { data: handles.seal(found.node) } },
    nextentry,
  });
  if (name === ".") return entry(folder);
  if (name === "..") return entry(undefined);
  const found = await calls.findName(who, folder.id, name);
  if (found !== undefined) await calls.forget(who, found.id);
  return entry(found);
}
