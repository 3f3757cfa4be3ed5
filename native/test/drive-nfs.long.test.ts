// The NFS drive under the contract of drives, through libnfs: its programs are clients of a protocol that knows no open
// and no close, so that some of the contract has no meaning there. What only libnfs cannot ask is in drive-nfs.test.ts
// and nfs/beside.test.ts. Slow, since a file is let go after a quiet second.
import { describe } from "@jest/globals";
import { hasLibnfs, nfsRig } from "./nfs/nfs-rig.ts";
import { driveContract } from "./support/drive-contract.ts";

const NO_CALL = "NFS version 3 has no such call";
const NO_OPEN = "NFS version 3 knows no open file";
const OPENED_LATE = "a file is opened by its first READ or WRITE, once for all";
const CUT = "a cut is durable when it is answered";
const AGAIN = "a COMMIT that failed may be asked for again, and is made again a quiet second later";

const LACKS: Record<string, string> = {
  "holes are told, made and kept: of what was never written, of what was punched, of what is cached": NO_CALL,
  "holes are of whole blocks, as on a disk, however small the writes": NO_CALL,
  "holes take no blocks: while a file is open, when it is saved, when it is cut, when it is known only by its size":
    NO_CALL,
  "extended attributes are the agent's, and asked for once where there are some": NO_CALL,
  "of extended attributes those used last are held": NO_CALL,
  "a program may give up, and the agent is told": NO_CALL,
  "times set on a dirty file go with its commit": "libnfs sets times by path",
  "a file that lost its name lives in its handles and is never committed": NO_OPEN,
  "a rename over an open file leaves its readers what they opened": NO_OPEN,
  "an open file reads one version, the next open the new one, under the same inode number": NO_OPEN,
  "a content under an open file is not dropped": NO_OPEN,
  "a content is let go for the one file that is open over it, which reads on": NO_OPEN,
  "layers that lie in one file are read from there, whatever is cut and saved since": NO_OPEN,
  "what was being opened when the agent was asked to cut it is opened as it is after that": OPENED_LATE,
  "a waiting request holds up nobody else": OPENED_LATE,
  "what became another file's is that one's for its programs only": NO_OPEN,
  "who finds it under the name that the kernel still knows gets the file that has the name": NO_OPEN,
  "O_TRUNC keeps the base version to commit against": CUT,
  "truncate by path: the agent's while closed, the open file's while open": CUT,
  "a failed close has been told: it is not tried again at the release, and the file is let go": AGAIN,
  "a reader does not keep others from what has come after a save that failed at first": AGAIN,
  "an edit commits its extents over the version it was opened at":
    "a close is a COMMIT, which asks for what fsync does",
  "a new file over which another client moves one before the answer is its program's own, unseen (%i)":
    "libnfs looks a new name up again",
  "a fetch that fails is the reader's error, and the next read asks again": "libnfs calls each failed read EFAULT",
  "a file with nothing to save is synced by the agent, which may have answered before what it has is safe":
    "each COMMIT before it was of what fsync has safe",
};

(hasLibnfs() ? describe : describe.skip)("contract", () => driveContract("NFS drive", nfsRig, LACKS));
