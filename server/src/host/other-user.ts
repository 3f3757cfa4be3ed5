// Serving as another user than root: once the server listens, what it has made is given to that user, and root's rights
// are given up for good.
import { execFile } from "node:child_process";
import { access, constants, lchown, lstat, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { RunnelError } from "@runnel/shared";

export interface OtherUser {
  name: string;
  uid: number;
  gid: number;
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
export async function becomeUser(user: OtherUser, dataFolder: string): Promise<void> {
  await mkdir(dataFolder, { recursive: true, mode: FOLDER_MODE });
  await give(dataFolder, user);
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

/** A folder and all in it; of links the links themselves. */
async function give(path: string, user: OtherUser): Promise<void> {
  const stat = await lstat(path);
  if (stat.uid !== user.uid || stat.gid !== user.gid) await lchown(path, user.uid, user.gid);
  if (stat.isDirectory()) for (const name of await readdir(path)) await give(join(path, name), user);
}

function refusal(kind: "Denied" | "Invalid", sentence: string, cause?: unknown): RunnelError {
  return new RunnelError(kind, "serve", sentence, cause === undefined ? {} : { cause });
}
