// The ways to work on a server's folder that are compared: a drive in each mode (in mode async the work has ended when
// all of it is on the server), sshfs, and rsync over ssh. Each begins with a
// client that has read everything once, and can be left and come back to as a client that knows nothing.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { userInfo } from "node:os";
import { type Device, type LinkEmulator, type LinkShape, type Sandbox, isMounted } from "../../src/harness/index.ts";
import { mustRun, onMount, waitFor } from "../../src/harness/index.ts";
import type { Work } from "./work.ts";

export interface System {
  name: string;
  /** Packages that it needs and that are not there. */
  missing(): string[];
  /** A server of this folder, and a client that has read all of it over a fast line. */
  start(sandbox: Sandbox, served: string, deadlineMs: number): Promise<Running>;
}

export interface Running {
  link: LinkEmulator;
  /** From now on the client is one that knows nothing. */
  forget(): Promise<void>;
  perform(work: Work, material: string, scratch: string): Promise<void>;
  /** Ends what the sandbox cannot know as its own. */
  end(): Promise<void>;
}

const READ_ALL = 'cat "$1/document.xml" "$1/large.bin" >/dev/null; grep -r nothing-like-it "$1/tree" || [ $? = 1 ]';
const READY_MS = 30_000;
const SSHD = "/usr/sbin/sshd";
const NO_LIMIT: Partial<LinkShape> = {};

class OnDrive implements Running {
  readonly link: LinkEmulator;
  private readonly sandbox: Sandbox;
  private readonly deadlineMs: number;
  private readonly isAsync: boolean;
  private device: Device;
  private drive: string;
  private clients = 1;
  private isMounted = false;

  constructor(sandbox: Sandbox, link: LinkEmulator, deadlineMs: number, isAsync: boolean) {
    this.sandbox = sandbox;
    this.link = link;
    this.deadlineMs = deadlineMs;
    this.isAsync = isAsync;
    this.device = sandbox.device("client-1");
    this.drive = sandbox.makeFolder("drive-1");
  }

  async mount(): Promise<void> {
    await this.device.mount(
      `ws://127.0.0.1:${this.link.port}/docs`,
      this.drive,
      this.isAsync ? ["--mode", "async"] : [],
    );
    this.isMounted = true;
  }

  async readAll(): Promise<void> {
    await this.mount();
    await onMount(READ_ALL, [this.drive], { deadlineMs: this.deadlineMs });
  }

  async forget(): Promise<void> {
    await this.device.unmount(this.drive);
    this.clients += 1;
    this.device = this.sandbox.device(`client-${this.clients}`);
    this.drive = this.sandbox.makeFolder(`drive-${this.clients}`);
    this.isMounted = false;
  }

  async perform(work: Work, material: string, scratch: string): Promise<void> {
    if (!this.isMounted) await this.mount();
    const { deadlineMs } = this;
    await onMount(work.onMount, [this.drive, material, scratch], { deadlineMs });
    if (this.isAsync) await this.device.flush(this.drive, { deadlineMs });
  }

  async end(): Promise<void> {
    await this.device.unmount(this.drive);
  }
}

const DRIVES = ["sync", "async"].map((mode): System => ({
  name: mode === "sync" ? "drive" : "async",
  missing: () => [],
  async start(sandbox, served, deadlineMs) {
    const server = await sandbox.startServer({ volumes: { docs: served } });
    const link = await sandbox.startEmulator(server.port, NO_LIMIT);
    const running = new OnDrive(sandbox, link, deadlineMs, mode === "async");
    await running.readAll();
    return running;
  },
}));

/**
 * An sshd of this user on a loopback port. It writes its title over its environment, so the sandbox does not know it.
 */
interface Sshd {
  port: number;
  /** Path of the private key that it lets in. */
  key: string;
  end(): Promise<void>;
}

async function startSshd(sandbox: Sandbox): Promise<Sshd> {
  const folder = sandbox.makeFolder("ssh");
  const [key, hostKey] = [`${folder}/key`, `${folder}/host-key`];
  for (const path of [key, hostKey]) await mustRun("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", path]);
  const port = await freePort();
  const lines = [
    `Port ${port}`,
    "ListenAddress 127.0.0.1",
    `HostKey ${hostKey}`,
    `AuthorizedKeysFile ${key}.pub`,
    "PidFile none",
    "StrictModes no",
    "UsePAM no",
    "PasswordAuthentication no",
    "PermitRootLogin prohibit-password",
    "Subsystem sftp internal-sftp",
  ];
  writeFileSync(`${folder}/config`, lines.join("\n"));
  // Folder where it separates its privileges; the package leaves that to the system's start.
  if (userInfo().uid === 0) mkdirSync("/run/sshd", { recursive: true });
  const child = spawn(SSHD, ["-D", "-E", `${folder}/log`, "-f", `${folder}/config`], { cwd: "/", stdio: "ignore" });
  const ended = once(child, "exit");
  const end = async (): Promise<void> => {
    child.kill();
    await ended;
  };
  try {
    await waitFor(
      () => {
        const log = existsSync(`${folder}/log`) ? readFileSync(`${folder}/log`, "utf8") : "";
        if (child.exitCode !== null) throw new Error(`sshd ended: ${log}`);
        return log.includes("Server listening");
      },
      READY_MS,
      "sshd",
    );
  } catch (error) {
    await end();
    throw error;
  }
  return { port, key, end };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}

function sshOptions(port: number, key: string): string[] {
  const settings = ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "BatchMode=yes", "LogLevel=ERROR"];
  return ["-p", String(port), "-i", key, ...settings.flatMap((setting) => ["-o", setting])];
}

class OnSshfs implements Running {
  readonly link: LinkEmulator;
  private readonly sandbox: Sandbox;
  private readonly served: string;
  private readonly sshd: Sshd;
  private readonly deadlineMs: number;
  private mountpoint: string;
  private clients = 1;

  constructor(sandbox: Sandbox, link: LinkEmulator, served: string, sshd: Sshd, deadlineMs: number) {
    this.sandbox = sandbox;
    this.link = link;
    this.served = served;
    this.sshd = sshd;
    this.deadlineMs = deadlineMs;
    this.mountpoint = sandbox.makeFolder("sshfs-1");
  }

  async mount(): Promise<void> {
    const { mountpoint, sandbox, link, served } = this;
    const { key } = this.sshd;
    const args = ["-f", "-C", "-o", "auto_cache", `${userInfo().username}@127.0.0.1:${served}`, mountpoint];
    const options = [
      "-o",
      `IdentityFile=${key}`,
      ...sshOptions(link.port, key).filter((word) => word !== "-i" && word !== key),
    ];
    const child = spawn("sshfs", [...options, ...args], { cwd: "/", env: sandbox.env, stdio: "ignore" });
    child.on("error", () => {}); // It will not be mounted.
    await waitFor(() => isMounted(mountpoint), READY_MS, "sshfs");
  }

  async readAll(): Promise<void> {
    await this.mount();
    await onMount(READ_ALL, [this.mountpoint], { deadlineMs: this.deadlineMs });
  }

  async forget(): Promise<void> {
    await mustRun("fusermount3", ["-u", this.mountpoint]);
    this.clients += 1;
    this.mountpoint = this.sandbox.makeFolder(`sshfs-${this.clients}`);
  }

  async perform(work: Work, material: string, scratch: string): Promise<void> {
    if (!isMounted(this.mountpoint)) await this.mount();
    await onMount(work.onMount, [this.mountpoint, material, scratch], { deadlineMs: this.deadlineMs });
  }

  async end(): Promise<void> {
    await mustRun("fusermount3", ["-u", this.mountpoint]);
    await this.sshd.end();
  }
}

const sshfs: System = {
  name: "sshfs",
  missing: () => missingOf({ sshfs: "/usr/bin/sshfs", "openssh-server": SSHD, "openssh-client": "/usr/bin/ssh" }),
  async start(sandbox, served, deadlineMs) {
    const sshd = await startSshd(sandbox);
    const running = new OnSshfs(sandbox, await sandbox.startEmulator(sshd.port, NO_LIMIT), served, sshd, deadlineMs);
    await running.readAll();
    return running;
  },
};

const rsync: System = {
  name: "rsync",
  missing: () => missingOf({ rsync: "/usr/bin/rsync", "openssh-server": SSHD, "openssh-client": "/usr/bin/ssh" }),
  async start(sandbox, served, deadlineMs) {
    const { port, key, end } = await startSshd(sandbox);
    const link = await sandbox.startEmulator(port, NO_LIMIT);
    const env = { ...sandbox.env, RSYNC_RSH: ["ssh", ...sshOptions(link.port, key)].join(" ") };
    const copy = sandbox.makeFolder("copy");
    const remote = `${userInfo().username}@127.0.0.1:${served}`;
    await mustRun("rsync", ["-a", `${remote}/`, `${copy}/`], { env, deadlineMs });
    return {
      link,
      // The copy is of use to none of the work that begins anew.
      forget: async () => undefined,
      perform: async (work, material, scratch) => {
        await onMount(work.byRsync, [copy, material, scratch, remote], { env, deadlineMs });
      },
      end,
    };
  },
};

function missingOf(packages: Record<string, string>): string[] {
  return Object.entries(packages)
    .filter(([, path]) => !existsSync(path))
    .map(([name]) => name);
}

export const SYSTEMS: readonly System[] = [...DRIVES, rsync, sshfs];
