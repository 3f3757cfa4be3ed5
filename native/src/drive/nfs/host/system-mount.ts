// Mounts an NFS drive with the system's own client, where a user may do that: on macOS. Elsewhere nothing is mounted,
// and programs reach the drive by its address.
import { execFile } from "node:child_process";
import { RunnelError } from "@runnel/shared/model";
import { runAfterDeath } from "./after-death.ts";

export interface SystemMount {
  /** @throws RunnelError with the system's words */
  mount(port: number, path: string, mountpoint: string, isReadOnly: boolean): Promise<void>;
  /** @throws RunnelError Busy while programs use it, unless forced */
  unmount(mountpoint: string, force: boolean): Promise<void>;
  /** Says whether it is still there, whoever may have unmounted it. */
  isMounted(mountpoint: string): Promise<boolean>;
}

export function systemMount(): SystemMount | undefined {
  return process.platform === "darwin" ? darwinMount() : undefined;
}

/** The kernel's client asks for attributes again after a second, as of the other drives. */
const ATTRIBUTES_S = 1;
const RUN_MS = 30_000;

/**
 * Arguments of mount_nfs(8) of macOS. `locallocks`: locks are kept by the Mac, since the server has none. `nfc`: names
 * are sent composed, as other systems write them. `noresvport`: no right is needed for the port.
 */
export function darwinMountArguments(port: number, path: string, mountpoint: string, isReadOnly: boolean): string[] {
  const options = [
    "vers=3",
    "tcp",
    `port=${port}`,
    `mountport=${port}`,
    "locallocks",
    "noresvport",
    "nfc",
    "intr",
    "rdirplus",
    `actimeo=${ATTRIBUTES_S}`,
    "nosuid",
    "nodev",
    ...(isReadOnly ? ["ro"] : []),
  ];
  return ["-o", options.join(","), `127.0.0.1:/${path}`, mountpoint];
}

function darwinMount(): SystemMount {
  /** Unmounts by force once this process has died: programs would wait for it in the kernel. */
  let guard: Disposable | undefined;
  return {
    mount: async (port, path, mountpoint, isReadOnly) => {
      const { code, said } = await run("/sbin/mount_nfs", darwinMountArguments(port, path, mountpoint, isReadOnly));
      if (code !== 0) throw new RunnelError("Unavailable", "mount", `macOS did not mount the drive: ${said}`);
      guard = runAfterDeath(["/sbin/umount", "-f", mountpoint]);
    },
    unmount: async (mountpoint, force) => {
      const { code, said } = await run("/sbin/umount", [...(force ? ["-f"] : []), mountpoint]);
      if (code === 0) {
        guard?.[Symbol.dispose]();
        return;
      }
      const isBusy = /busy/i.test(said);
      throw new RunnelError(
        isBusy ? "Busy" : "Io",
        "unmount",
        isBusy
          ? "Programs use the drive: close their files and windows, then try again."
          : `macOS did not unmount the drive: ${said}`,
      );
    },
    isMounted: async (mountpoint) => {
      const { said } = await run("/sbin/mount", ["-t", "nfs"]);
      const isThere = said.split("\n").some((line) => line.includes(` on ${mountpoint} (`));
      if (!isThere) guard?.[Symbol.dispose]();
      return isThere;
    },
  };
}

function run(command: string, args: readonly string[]): Promise<{ code: number; said: string }> {
  return new Promise((resolve) => {
    execFile(command, args, { cwd: "/", timeout: RUN_MS }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : 1, said: `${stderr}${stdout}`.trim() });
    });
  });
}
