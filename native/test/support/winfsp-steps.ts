// Steps that tests of the WinFsp drive are made of.
import { constants } from "node:fs";
import { StatusError } from "./windows-program.ts";
import { winfspRig, type WinFspRig } from "./winfsp-rig.ts";

const { O_RDONLY, O_CREAT, O_WRONLY, O_EXCL } = constants;

/** Answers of a drive (ntstatus.h). */
export const STATUS = {
  accessDenied: 0xc0000022,
  nameInvalid: 0xc0000033,
  nameNotFound: 0xc0000034,
  collision: 0xc0000035,
  pathNotFound: 0xc000003a,
  fileInvalid: 0xc0000098,
  writeProtected: 0xc00000a2,
  isFolder: 0xc00000ba,
  notEmpty: 0xc0000101,
  notFolder: 0xc0000103,
  cannotDelete: 0xc0000121,
} as const;
/** Runs a body with a drive of its own. */
export const withRig =
  (body: (rig: WinFspRig) => Promise<void>, isReadOnly = false) =>
  async (): Promise<void> => {
    const rig = await winfspRig({}, isReadOnly);
    try {
      await body(rig);
    } finally {
      await rig.close();
    }
  };

/** Returns the status that a call ends with. */
export async function statusOf(what: Promise<unknown>): Promise<number> {
  try {
    await what;
    return 0;
  } catch (error) {
    if (error instanceof StatusError) return error.status;
    throw error;
  }
}

/** Reads bytes as UTF-8. */
export const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

/** Returns what a file has, at most 1000 bytes. */
export async function contentOf({ program }: WinFspRig, path: string): Promise<string> {
  const fd = await program.open(path, O_RDONLY);
  const got = textOf(await program.read(fd, 0, 1000));
  await program.close(fd);
  return got;
}

/** Makes a file that is not there yet. */
export async function make({ program }: WinFspRig, path: string, content = ""): Promise<void> {
  const fd = await program.open(path, O_WRONLY | O_CREAT | O_EXCL);
  await program.write(fd, 0, Buffer.from(content));
  await program.close(fd);
}

/** Opens, to see whether it may. */
export const tryOpen = ({ program }: WinFspRig, path: string, access: number, more: object = {}): Promise<number> =>
  statusOf(program.with({ path, access, ...more }, async () => {}));
