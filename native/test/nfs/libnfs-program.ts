// A program that uses an NFS drive through libnfs, in a process of its own (program.py). Calls are made one after the
// other.
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { ProgramStat } from "../../drive.ts";

const PROGRAM = fileURLToPath(new URL("program.py", import.meta.url));

type Args = readonly (string | number)[];

export class LibnfsProgram {
  readonly child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #reader: Interface;
  #last: Promise<unknown> = Promise.resolve();
  #calls = 0;

  private constructor(child: ChildProcess) {
    this.child = child;
    if (child.stdout === null) throw new Error("no pipe");
    this.#reader = createInterface(child.stdout);
    this.#lines = this.#reader[Symbol.asyncIterator]();
  }

  /** Mounts; `uid`: as that user. @throws with the words of libnfs */
  static async start(url: string, uid?: number): Promise<LibnfsProgram> {
    const args = [PROGRAM, url, ...(uid === undefined ? [] : [String(uid)])];
    const child = spawn("python3", args, { stdio: ["pipe", "pipe", "pipe"] });
    const said: string[] = [];
    child.stderr.on("data", (bytes: Buffer) => said.push(bytes.toString()));
    const program = new LibnfsProgram(child);
    const first = await program.#lines.next();
    if (first.done === true) throw new Error(`libnfs: ${said.join("")}`);
    return program;
  }

  #call(method: string, ...args: Args): Promise<unknown> {
    const result = this.#last.then(async () => {
      this.child.stdin?.write(`${JSON.stringify({ method, args })}\n`);
      const line = await this.#lines.next();
      if (line.done === true) throw new Error(`${method}: the program has ended`);
      const said = JSON.parse(line.value) as { result?: unknown; errno?: number };
      if (said.errno !== undefined)
        throw Object.assign(new Error(`${method} failed with errno ${said.errno}`), { errno: said.errno });
      return said.result;
    });
    this.#calls += 1;
    this.#last = result
      .catch(() => undefined)
      .then(() => {
        this.#calls -= 1;
      });
    return result;
  }

  async #stat(method: string, of: string | number): Promise<ProgramStat> {
    const said = (await this.#call(method, of)) as Record<string, number | string>;
    const times = ["atimeNs", "mtimeNs", "ctimeNs"].map((name) => [name, BigInt(said[name] ?? 0)]);
    return { ...said, ...Object.fromEntries(times) } as unknown as ProgramStat;
  }

  async #done(method: string, ...args: Args): Promise<void> {
    await this.#call(method, ...args);
  }

  stat = (path: string): Promise<ProgramStat> => this.#stat("stat", path);
  lstat = (path: string): Promise<ProgramStat> => this.#stat("lstat", path);
  fstat = (fd: number): Promise<ProgramStat> => this.#stat("fstat", fd);
  readdir = async (path: string): Promise<string[]> => (await this.#call("readdir", path)) as string[];
  open = async (path: string, flags: number, mode = 0o644): Promise<number> =>
    (await this.#call("open", path, flags, mode)) as number;
  read = async (fd: number, offset: number, length: number): Promise<Uint8Array> =>
    Buffer.from((await this.#call("read", fd, offset, length)) as string, "base64");
  write = async (fd: number, offset: number, data: Uint8Array): Promise<number> =>
    (await this.#call("write", fd, offset, Buffer.from(data).toString("base64"))) as number;
  fsync = (fd: number): Promise<void> => this.#done("fsync", fd);
  close = (fd: number): Promise<void> => this.#done("close", fd);
  ftruncate = (fd: number, size: number): Promise<void> => this.#done("ftruncate", fd, size);
  truncate = (path: string, size: number): Promise<void> => this.#done("truncate", path, size);
  chmod = (path: string, mode: number): Promise<void> => this.#done("chmod", path, mode);
  utimes = (path: string, atimeNs: bigint, mtimeNs: bigint): Promise<void> =>
    this.#done("utimes", path, String(atimeNs), String(mtimeNs));
  mkdir = (path: string): Promise<void> => this.#done("mkdir", path);
  symlink = (target: string, path: string): Promise<void> => this.#done("symlink", target, path);
  readlink = async (path: string): Promise<string> => (await this.#call("readlink", path)) as string;
  link = (path: string, to: string): Promise<void> => this.#done("link", path, to);
  unlink = (path: string): Promise<void> => this.#done("unlink", path);
  rmdir = (path: string): Promise<void> => this.#done("rmdir", path);
  rename = (path: string, to: string): Promise<void> => this.#done("rename", path, to);

  /** Calls are under way. */
  get isBusy(): boolean {
    return this.#calls > 0;
  }

  /** Ends it, whatever it is doing. */
  async end(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.kill("SIGKILL");
    await ended;
    this.#reader.close();
  }
}
