// The FUSE operations that the drive answers, as its source binds them: a test of all of them forgets none that is
// added.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const SOURCE = fileURLToPath(new URL("../../../native/src/drive/fuse/fuse_ops.cc", import.meta.url));

export function fuseOperations(): string[] {
  return [...readFileSync(SOURCE, "utf8").matchAll(/^\s*ops\.(\w+) = /gm)].map(([, name = ""]) => name);
}

/** No program waits for these: mounting is one, and the kernel sends the others when nobody is left. */
export const UNAWAITED: readonly string[] = ["init", "forget", "forget_multi", "release", "releasedir"];
