// Serving as another user than root: once the server listens, what it has made is given to that user, and root's rights
// are given up for good.
import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { promisify } from "node:util";
import type { Disk, DiskRoot } from "@runnel/shared";
import { RunnelError, isRunnelError, withOpened } from "@runnel/shared";

interface Owner {
  uid: number;
  gid: number;
}

export interface OtherUser extends Owner {
  name: string;
  /** All that it is in. */
  groups: number[];
}

const FOLDER_MODE = 0o700;

/** @throws RunnelError Denied for a server that is not root, Invalid for a user whom the system does not know. */
export async function userNamed(name: string): Promise<OtherUser> {
  if (process.geteuid?.() !== 0) throw refusal("Denied", "Only root can serve as another user. Leave --user out.");
  const ask = async (what: string): Promise<number[]> => {
    const { stdout } = await promisify(execFile)("id", [what, "--", name]);
    return stdout.trim().split(" ").map(Number);
  };
  try {
    const [[uid = NaN], [gid = NaN], groups] = [await ask("-u"), await ask("-g"), await ask("-G")];
    return { name, uid, gid, groups };
  } catch (error) {
    throw refusal("Invalid", `This system has no user ${name}.`, error);
  }
}

/** @throws RunnelError Denied, Io when the user cannot be or reach what it needs. */
export async function becomeUser(user: OtherUser, dataFolder: string, disk: Disk): Promise<void> {
  const root = await disk.openRoot(dataFolder, { permissions: FOLDER_MODE });
  await withOpened(root, () => give(root, user));
  process.setgroups?.(user.groups);
  process.setgid?.(user.gid);
  process.setuid?.(user.uid);
  // Threads that start later read their code.
  for (const path of [dataFolder, import.meta.filename]) {
    await access(path, constants.R_OK).catch((error: unknown) => {
      throw refusal("Denied", `${user.name} cannot read ${path}: let it, or say another place.`, error);
    });
  }
}

/**
 * Gives away a folder and all in it; of links the links themselves. Others may be writing in it: nothing is followed
 * out of the folder, and what has been looked at is what is given.
 * @throws RunnelError Denied for a file of another user that has further names, which may lie anywhere.
 */
export async function give(root: DiskRoot, user: Owner, path = ""): Promise<void> {
  try {
    await giveOne(root, user, path);
  } catch (error) {
    // Gone since, or something else is there: not what was the server's to give.
    if (path === "" || !isRunnelError(error, "NotFound", "NotFolder")) throw error;
  }
}

async function giveOne(root: DiskRoot, { uid, gid }: Owner, path: string): Promise<void> {
  const handle = await root.handle(path);
  const stat = await root.stat(path);
  if (stat.uid !== uid || stat.gid !== gid) {
    if (stat.type !== "folder" && stat.nlink > 1) {
      const sentence = `${path} in ${root.path} has another name elsewhere, so it is given to nobody. Remove one of them.`;
      throw refusal("Denied", sentence);
    }
    await root.setStat(path, { uid, gid }, handle);
  }
  if (stat.type !== "folder") return;
  const names: string[] = [];
  await root.list(path, (entries) => {
    for (const { name } of entries) if (name !== undefined) names.push(name);
  });
  for (const name of names) await give(root, { uid, gid }, path === "" ? name : `${path}/${name}`);
}

function refusal(kind: "Denied" | "Invalid", sentence: string, cause?: unknown): RunnelError {
  return new RunnelError(kind, "serve", sentence, cause === undefined ? {} : { cause });
}
