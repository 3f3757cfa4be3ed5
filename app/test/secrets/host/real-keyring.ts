// A real keyring on a session bus of its own: Debian's gnome-keyring, with a home in a folder.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { SecretService } from "../../../src/agent/secrets/host/linux/token-store.ts";

const DAEMON = "gnome-keyring-daemon";
const PASSWORD = "the password of the test";

/** A bus that starts no program by itself: only the daemon of the test answers. */
const configOf = (socket: string): string => `<busconfig>
  <type>session</type>
  <listen>unix:path=${socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
`;

/** Says why it cannot run here; undefined when it can. */
export function whyNoKeyring(): string | undefined {
  const missing = ["dbus-daemon", DAEMON].filter((name) => spawnSync(name, ["--version"]).error !== undefined);
  return missing.length === 0 ? undefined : `${missing.join(" and ")} is not here (Debian: dbus, gnome-keyring)`;
}

export class RealKeyring {
  readonly address: string;
  readonly #folder: string;
  readonly #bus: ChildProcess;
  #daemon: ChildProcess | undefined;

  private constructor(folder: string, address: string, bus: ChildProcess) {
    this.#folder = folder;
    this.address = address;
    this.#bus = bus;
  }

  static async start(folder: string): Promise<RealKeyring> {
    const config = join(folder, "bus.conf");
    writeFileSync(config, configOf(join(folder, "bus")));
    const words = [`--config-file=${config}`, "--nofork", "--print-address=1"];
    const bus = spawn("dbus-daemon", words, { stdio: ["ignore", "pipe", "ignore"] });
    const [address] = (await once(createInterface({ input: bus.stdout }), "line")) as [string];
    return new RealKeyring(folder, address, bus);
  }

  /** Starts the daemon, and opens its keyring unless it is to stay locked. */
  async open({ isLocked = false } = {}): Promise<void> {
    mkdirSync(join(this.#folder, "data", "keyrings"), { recursive: true });
    const env = {
      ...process.env,
      DBUS_SESSION_BUS_ADDRESS: this.address,
      HOME: this.#folder,
      XDG_DATA_HOME: join(this.#folder, "data"),
      XDG_RUNTIME_DIR: this.#folder,
    };
    const control = `--control-directory=${join(this.#folder, "control")}`;
    const words = ["--foreground", "--components=secrets", control, ...(isLocked ? [] : ["--unlock"])];
    const daemon = spawn(DAEMON, words, { env, stdio: ["pipe", "pipe", "ignore"] });
    this.#daemon = daemon;
    daemon.stdin.end(isLocked ? "" : PASSWORD);
    await once(createInterface({ input: daemon.stdout }), "line");
    // It is reached before it has read its keyring.
    const store = new SecretService(this.address);
    for (;;) {
      const said = await store.check().catch((error: Error) => error.message);
      if (said === undefined || (isLocked && said.includes("locked"))) return;
      if (daemon.exitCode !== null) throw new Error(`${DAEMON} has ended`);
    }
  }

  /** Ends the daemon; the keyring stays on the disk. */
  async kill(): Promise<void> {
    await end(this.#daemon, "SIGKILL");
    this.#daemon = undefined;
  }

  /** Stops it: it answers nothing until it goes on. */
  halt(): void {
    this.#daemon?.kill("SIGSTOP");
  }

  async close(): Promise<void> {
    await this.kill();
    await end(this.#bus, "SIGKILL");
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

async function end(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill(signal);
  await ended;
}
