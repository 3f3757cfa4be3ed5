// The agent's home: where it keeps its state, and how the command line finds the one agent that runs there.
//
//     agent.json    {pid, socket, started, version} of the running agent; absent after a clean end
//     agent.sock    the control socket, mode 0600; elsewhere (agent.json says where) when this path is too long, and on
//                   Windows, where it is a pipe
//     agent.lock    held by the running agent (agent-lock.ts)
//     agent.log     what it logs; agent.log.1 is the part before
//     desktop.log   what the desktop app logs: updates that were refused, and why
//     mounts.json   the mounts that have not ended cleanly, and those that are kept
//     servers.json  servers that know this device, with its tokens; mode 0600
//     history.sqlite  what happened lately, and what was saved by the hour
//     cache/        cached contents, unless a mount says otherwise
//     mounts/ID/    replica and journal of a mount; made of URL and mount point, ID is the same for a later mount
//     identity/     key and certificate by which colleagues know this device, once a drive has wanted any
//     unmounted/ID/ the same, and a cache, of a volume that no drive shows and that was put into, got or copied from
//     spool/        what programs put that is no file, until it is put
//     mail/PLACE/   mails of a relay that listens at PLACE, until they are answered
//     page/         what a browser is started with, while its ticket is good
//     server/       data of `runnel serve`, unless it says otherwise
/* oxlint-disable node/no-sync -- small files, when the agent starts or ends and when a person mounts */
// oxlint-disable-next-line no-restricted-imports -- of short names
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { type ErrorKind, fromSystemError, RunnelError } from "@runnel/shared/base";
import { z } from "zod";
import { FolderPause, Pause } from "../../mount-status.ts";
import type { Environment, System } from "./system.ts";
import { thisSystem } from "./this-system.ts";

const AgentRecord = z.object({ pid: z.int(), socket: z.string(), started: z.string(), version: z.string() });
export type AgentRecord = z.infer<typeof AgentRecord>;

/** Options of a mount, with which the drive is mounted again. */
const MountOptions = z.object({
  cacheFolder: z.string(),
  cacheBytes: z.number(),
  mapOwner: z.boolean(),
  isAsync: z.boolean().optional(),
  unsentBytes: z.number().optional(),
  usesFsKit: z.boolean().optional(),
  usesNfs: z.boolean().optional(),
  isKept: z.boolean().optional(),
  secretPath: z.string().optional(),
  colleagues: z.enum(["off", "network", "everyone"]).optional(),
  colleaguesUpBytes: z.number().optional(),
  isMetered: z.boolean().optional(),
  pause: Pause.optional(),
  pausedFolders: z.array(FolderPause).readonly().optional(),
});

const MountRecords = z.array(
  z.object({
    url: z.string(),
    mountpoint: z.string(),
    options: MountOptions.optional(),
    /** It was unmounted when its agent ended, and is to be mapped again. */
    isResting: z.boolean().optional(),
  }),
);
export type MountRecord = z.infer<typeof MountRecords>[number];

/** Folder of the home: RUNNEL_HOME, else the place that the system has for such state. */
export function homeFolder(
  environment: Environment = process.env,
  system: Pick<System, "homeFolder"> = thisSystem,
  user: string = homedir(),
): string {
  const asked = environment["RUNNEL_HOME"];
  return asked !== undefined && asked !== "" ? resolve(asked) : system.homeFolder(user, environment);
}

export class AgentHome {
  readonly folder: string;
  readonly lockPath: string;
  readonly logPath: string;
  readonly recordPath: string;
  readonly cacheFolder: string;
  readonly historyPath: string;
  readonly serversPath: string;
  readonly serverFolder: string;
  readonly pageFolder: string;
  readonly spoolFolder: string;
  readonly mailFolder: string;
  readonly #environment: Environment;

  constructor(folder: string = homeFolder(), environment: Environment = process.env) {
    this.folder = folder;
    this.lockPath = join(folder, "agent.lock");
    this.logPath = join(folder, "agent.log");
    this.recordPath = join(folder, "agent.json");
    this.cacheFolder = join(folder, "cache");
    this.historyPath = join(folder, "history.sqlite");
    this.serversPath = join(folder, "servers.json");
    this.serverFolder = join(folder, "server");
    this.pageFolder = join(folder, "page");
    this.spoolFolder = join(folder, "spool");
    this.mailFolder = join(folder, "mail");
    this.#environment = environment;
  }

  mountFolder(url: string, mountpoint: string): string {
    const id = createHash("sha256").update(`${url}\0${mountpoint}`).digest("hex").slice(0, 24);
    return join(this.folder, "mounts", id);
  }

  unmountedFolder(url: string): string {
    return join(this.folder, "unmounted", createHash("sha256").update(url).digest("hex").slice(0, 24));
  }

  /** Makes the home, open to its user only. @throws RunnelError also when it is there and open to others. */
  make(): void {
    makeFolder(this.folder);
    thisSystem.claimHome(this.folder);
  }

  /** Path at which the agent is to listen. @throws RunnelError Denied */
  socketPath(): string {
    return thisSystem.placeSocket(this.folder, this.#environment);
  }

  /** Record of the agent that said it runs here. @returns undefined when none did, or when the file is not whole. */
  readRecord(): AgentRecord | undefined {
    return readJson(this.recordPath, AgentRecord);
  }

  writeRecord(record: AgentRecord): void {
    writeJson(this.recordPath, record);
  }

  removeRecord(): void {
    rmSync(this.recordPath, { force: true });
  }

  readMounts(): MountRecord[] {
    return readJson(join(this.folder, "mounts.json"), MountRecords) ?? [];
  }

  writeMounts(mounts: readonly MountRecord[]): void {
    writeJson(join(this.folder, "mounts.json"), mounts);
  }

  /** Last line of the log, for a person: the message of a structured line, or the line. */
  lastLogLine(): string | undefined {
    let log: string;
    try {
      log = readFileSync(this.logPath, "utf8");
    } catch {
      return undefined;
    }
    const line = log.trimEnd().split("\n").at(-1);
    if (line === undefined || line === "") return undefined;
    try {
      const message = (JSON.parse(line) as { msg?: unknown }).msg;
      return typeof message === "string" ? message : line;
    } catch {
      return line;
    }
  }
}

/** Makes a folder and those above it, open to this user only; leaves alone what is there. @throws RunnelError */
export function makeFolder(folder: string): void {
  const missing: string[] = [];
  // mkdir's own `recursive` never returns where a folder lets nothing be made in it (/proc).
  for (let at = folder; !makeOne(at, folder); at = dirname(at)) {
    if (at === dirname(at)) throw cannotMake("NotFound", folder);
    missing.push(at);
  }
  for (const path of missing.toReversed()) if (!makeOne(path, folder)) throw cannotMake("NotFound", folder);
}

/** @returns false when the folder above is missing. */
function makeOne(path: string, asked: string): boolean {
  try {
    mkdirSync(path, { mode: 0o700 });
    return true;
  } catch (error) {
    const { kind } = fromSystemError(error, "make a folder");
    if (kind === "NotFound") return false;
    if (kind !== "Exists") throw cannotMake(kind, asked, error);
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw cannotMake("NotFolder", asked, error);
    return true;
  }
}

function cannotMake(kind: ErrorKind, folder: string, cause?: unknown): RunnelError {
  const sentences: Partial<Record<ErrorKind, string>> = {
    NotFolder: `${folder} is no folder, or leads through a file. Choose another path.`,
    NameTooLong: `${folder} is too long for a path. Choose a shorter one.`,
    LinkLoop: `${folder} leads through a circle of symlinks. Choose another path.`,
    NoSpace: `${folder} cannot be made: the disk is full. Make room, or choose another path.`,
  };
  const sentence = sentences[kind] ?? `${folder} cannot be made. Choose a path where you may write.`;
  return new RunnelError(kind, "make a folder", sentence, { cause });
}

function readJson<T>(path: string, schema: z.ZodType<T>): T | undefined {
  try {
    return schema.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return undefined;
  }
}

/**
 * Writes all or nothing: a reader sees the old file or the new one. Only the lock's holder writes, so the other name is
 * free.
 */
function writeJson(path: string, value: unknown): void {
  writeFileSync(`${path}.new`, `${JSON.stringify(value, undefined, 2)}\n`, { mode: 0o600 });
  thisSystem.replace(`${path}.new`, path);
}
