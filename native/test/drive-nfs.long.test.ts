// The NFS drive under the contract of drives, through libnfs: its programs are clients of a protocol that knows no open
// and no close, so that some of the contract has no meaning there. Slow, since a file is let go after a quiet second.
import { describe } from "@jest/globals";
import { hasLibnfs, nfsRig } from "./nfs/nfs-rig.ts";
import { driveContract } from "./support/drive-contract.ts";

const NO_CALL = "NFS version 3 has no such call";
const NO_OPEN = "NFS version 3 knows no open file";

(hasLibnfs() ? describe : describe.skip)("contract", () =>
  driveContract("NFS drive", nfsRig, {
    "holes are told, made and kept: of what was never written, of what was punched, of what is cached": NO_CALL,
    "holes are of whole blocks, as on a disk, however small the writes": NO_CALL,
    "holes take no blocks: while a file is open, when it is saved, when it is cut, when it is known only by its size":
      NO_CALL,
    "extended attributes are the agent's, and asked for once where there are some": NO_CALL,
    "of extended attributes those used last are held": NO_CALL,
    "a program may give up, and the agent is told": NO_CALL,
    "a file that lost its name lives in its handles and is never committed": NO_OPEN,
    "a rename over an open file leaves its readers what they opened": NO_OPEN,
    "an open file reads one version, the next open the new one, under the same inode number": NO_OPEN,
  }),
);
