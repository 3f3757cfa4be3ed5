// libfuse's own passthrough_ll, the least that a drive in user space costs: built from the examples that come with the
// library, mounted over a folder of the local disk with all caching that it has.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { type Sandbox, isMounted, mustRun, waitFor } from "../src/harness/index.ts";

const SOURCE = "/usr/share/doc/libfuse3-dev/examples/passthrough_ll.c";
const BUILD_MS = 60_000;
const MOUNT_MS = 10_000;

/** Mounts it and returns where. It ends with the sandbox. */
export async function mountPassthrough(sandbox: Sandbox): Promise<string> {
  if (!existsSync(SOURCE)) {
    throw new Error(`The reference needs ${SOURCE}: install libfuse3-dev (Debian: apt-get install libfuse3-dev).`);
  }
  const program = sandbox.path("passthrough_ll");
  await mustRun("bash", ["-c", 'cc -O2 -o "$1" "$2" $(pkg-config --cflags --libs fuse3)', "bash", program, SOURCE], {
    deadlineMs: BUILD_MS,
  });
  const mountpoint = sandbox.makeFolder("passthrough");
  const options = `source=${sandbox.makeFolder("passed")},cache=always`;
  // Runs in the foreground, so that the sandbox's mark stays in its environment.
  const child = spawn(program, ["-f", "-o", options, mountpoint], { cwd: "/", env: sandbox.env, stdio: "ignore" });
  child.on("error", () => {}); // It will not be mounted.
  await waitFor(() => isMounted(mountpoint), MOUNT_MS, "passthrough_ll");
  return mountpoint;
}
