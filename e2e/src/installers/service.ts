// The service runnel-server without systemd: its command and its user from the unit, without any right of root, on a
// file system that is read-only but for what the unit lets it write to. Drives that end outside end in its namespace
// too, as under systemd.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { waitFor } from "../harness/index.ts";
import type { DebianRoot } from "./debian-root.ts";

const READY_MS = 60_000;

const UNIT = "/usr/lib/systemd/system/runnel-server.service";
const SERVE = `
unit() { sed -n "s/^$1=//p" ${UNIT}; }
install -d -m 750 -o runnel -g runnel /var/lib/runnel /var/cache/runnel
exec unshare --mount --propagation slave sh -ec '
for folder in /var/lib/runnel /var/cache/runnel /srv; do mount --bind $folder $folder; done
mount -o remount,bind,ro /
mount -t tmpfs tmp /tmp
. /etc/runnel/server.conf
cd /var/lib/runnel
set -- '"$(unit ExecStart)"' --json
exec setpriv --reuid='"$(unit User)"' --regid='"$(unit Group)"' --init-groups --inh-caps=-all --bounding-set=-all \\
    --no-new-privs env HOME=/var/lib/runnel XDG_CACHE_HOME=/var/cache/runnel "$@"'`;

export class Service {
  readonly #child: ChildProcess;
  /** Lines that it printed. */
  readonly said: string[] = [];

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Starts it and waits until it says that it serves. */
  static async start(debian: DebianRoot): Promise<Service> {
    const child = debian.start(SERVE);
    const service = new Service(child);
    let errors = "";
    child.stderr?.on("data", (bytes: Buffer) => (errors += bytes.toString()));
    if (child.stdout !== null) createInterface({ input: child.stdout }).on("line", (line) => service.said.push(line));
    await waitFor(
      () => {
        if (child.exitCode !== null) throw new Error(`The service ended with ${child.exitCode}: ${errors}`);
        return service.said[0];
      },
      READY_MS,
      "the service",
    );
    return service;
  }

  /** Ends it as systemd does; its process is the only one of its user that serves. @returns its exit code */
  async stop(debian: DebianRoot): Promise<number | null> {
    const ended = once(this.#child, "exit");
    await debian.mustRun("kill $(pgrep -u runnel -f 'runnel.mjs serve')");
    await ended;
    return this.#child.exitCode;
  }
}
