// Parts of electron-builder, of the version that packs the desktop app: npm has them, no test needs all of it.
import { type Sandbox, mustRun } from "../harness/index.ts";

/** Version that installers/here.ts packs with. */
export const BUILDER = "26.17.0";
const FETCH_MS = 300_000;

/** Path of a file or folder of electron-builder's own library, fetched into the sandbox. */
export async function partOfBuilder(sandbox: Sandbox, path: string): Promise<string> {
  const packed = ["pack", "--silent", "--pack-destination", sandbox.folder, `app-builder-lib@${BUILDER}`];
  const { stdout } = await mustRun("npm", packed, { deadlineMs: FETCH_MS });
  await mustRun("tar", ["-xzf", sandbox.path(stdout.trim()), "-C", sandbox.folder, `package/${path}`]);
  return sandbox.path("package", path);
}
