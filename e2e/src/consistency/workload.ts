// Programs of a simulation: each does one thing after another with a few names that all of them use, and every call is put down in the history.
import { constants } from "node:fs";
import type { Program } from "@runnel/native/drive";
import type { Executor, SeededRandom } from "@runnel/shared";
import { sleep } from "@runnel/shared";
import type { Call, History, Seen } from "./history.ts";
import type { Life, SimulatedClient } from "./simulated-client.ts";
import { keyOf } from "./truth.ts";

const FOLDERS = ["", "d/", "e/"];
const NAMES = ["a", "b", "c"];
const ENOENT = 2;
const SIZES = [0, 10, 300, 5000, 90_000];

export interface WorkloadParts {
  client: SimulatedClient;
  history: History;
  random: SeededRandom;
  executor: Executor;
  /** Longest pause between two things that it does. */
  pauseMs: number;
}

/** Resolves when `isOver` says so and what was under way has ended. */
export async function runProgram(parts: WorkloadParts, isOver: () => boolean): Promise<void> {
  const { client, random } = parts;
  while (!isOver()) {
    const { life } = client;
    if (life === undefined) {
      await sleep(client.machine.clock, 50);
      continue;
    }
    await new Doer(parts, life).something();
    await sleep(client.machine.clock, random.below(parts.pauseMs));
  }
}

/** What one life of an agent is asked for. */
class Doer {
  private readonly parts: WorkloadParts;
  private readonly life: Life;
  private readonly program: Program;

  constructor(parts: WorkloadParts, life: Life) {
    this.parts = parts;
    this.life = life;
    this.program = life.kernel.program();
  }

  async something(): Promise<void> {
    const { random } = this.parts;
    const chance = random.below(100);
    const path = this.path();
    if (chance < 20) await this.read(this.changedElsewhere() ?? path);
    else if (chance < 34) await this.read(path);
    else if (chance < 42) await this.list(FOLDERS[random.below(FOLDERS.length)] ?? "");
    else if (chance < 62) await this.write(path, true);
    else if (chance < 72) await this.edit(path);
    else if (chance < 80) await this.saveByRename(path);
    else if (chance < 87) await this.remove(path);
    else if (chance < 95) await this.rename(path, this.path());
    else await this.makeFolder(random.coin() ? "d" : "e");
  }

  private path(): string {
    const { random } = this.parts;
    const folder = FOLDERS[random.below(FOLDERS.length)] ?? "";
    return `${folder}${NAMES[random.below(NAMES.length)] ?? ""}`;
  }

  /** What another client's program was told done last. */
  private changedElsewhere(): string | undefined {
    const { history } = this.parts;
    const last = history.calls.findLast(
      ({ client, kind, outcome }) => client !== this.client && outcome === "ok" && kind !== "read" && kind !== "list",
    );
    return last?.toPath ?? last?.path;
  }

  private async bytes(): Promise<{ bytes: Uint8Array; key: string }> {
    const { random, executor } = this.parts;
    const bytes = random.bytes(SIZES[random.below(SIZES.length)] ?? 0);
    return { bytes, key: keyOf(await executor.chunkBytes(bytes)) };
  }

  private async call(
    begun: Pick<Call, "client" | "kind" | "path" | "toPath" | "content">,
    work: (call: Call) => Promise<void>,
  ): Promise<Call> {
    const { history } = this.parts;
    const call = history.begin(begun);
    const { mount, process } = this.life;
    const before = mount.statistics().offlineAnswers;
    try {
      await Promise.race([work(call), this.life.ended]);
      history.end(call, "ok");
    } catch (error) {
      const { errno } = error as { errno?: number };
      if (errno === undefined && !process.isDead) throw error;
      if (errno !== undefined) {
        call.errno = errno;
        history.end(call, "failed");
      }
    }
    call.wasOffline = mount.statistics().offlineAnswers !== before;
    return call;
  }

  private get client(): string {
    return this.parts.client.name;
  }

  private async read(path: string): Promise<void> {
    await this.call({ client: this.client, kind: "read", path }, async (call) => {
      call.content = await this.contentOf(path);
    });
  }

  private async contentOf(path: string): Promise<Seen> {
    let fd: number;
    try {
      fd = await this.program.open(path, constants.O_RDONLY);
    } catch (error) {
      if ((error as { errno?: number }).errno === ENOENT) return undefined;
      throw error;
    }
    try {
      return keyOf(await this.parts.executor.chunkBytes(await this.readAll(fd)));
    } finally {
      await this.program.close(fd);
    }
  }

  /** In several steps, between which much can happen. */
  private async readAll(fd: number): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    for (let offset = 0; ;) {
      const part = await this.program.read(fd, offset, 40_000);
      if (part.length === 0) return Buffer.concat(parts);
      parts.push(part);
      offset += part.length;
    }
  }

  private async list(path: string): Promise<void> {
    await this.call({ client: this.client, kind: "list", path }, async (call) => {
      try {
        call.names = await this.program.readdir(path);
      } catch (error) {
        if ((error as { errno?: number }).errno !== ENOENT) throw error;
      }
    });
  }

  private async write(path: string, isFresh: boolean): Promise<Call> {
    const { bytes, key } = await this.bytes();
    return this.call({ client: this.client, kind: "write", path, content: key }, async () => {
      const flags = constants.O_WRONLY | constants.O_CREAT | (isFresh ? constants.O_TRUNC : 0);
      const fd = await this.program.open(path, flags);
      try {
        if (isFresh) await this.program.ftruncate(fd, 0);
        if (bytes.length > 0) await this.program.write(fd, 0, bytes);
      } catch (error) {
        await this.program.close(fd).catch(() => undefined);
        throw error;
      }
      await this.program.close(fd);
    });
  }

  /** A few bytes in the middle of what is there. */
  private async edit(path: string): Promise<void> {
    const { random, executor } = this.parts;
    const patch = random.bytes(8);
    await this.call({ client: this.client, kind: "write", path }, async (call) => {
      const fd = await this.program.open(path, constants.O_RDWR);
      try {
        const bytes = await this.readAll(fd);
        const at = bytes.length < patch.length ? 0 : random.below(bytes.length - patch.length + 1);
        const edited = new Uint8Array(Math.max(bytes.length, at + patch.length));
        edited.set(bytes);
        edited.set(patch, at);
        call.content = keyOf(await executor.chunkBytes(edited));
        await this.program.write(fd, at, patch);
      } catch (error) {
        await this.program.close(fd).catch(() => undefined);
        throw error;
      }
      await this.program.close(fd);
    });
  }

  private async saveByRename(path: string): Promise<void> {
    const temp = `${path}.${this.client}`;
    const saved = await this.write(temp, true);
    if (saved.outcome === "ok") await this.rename(temp, path);
  }

  private async remove(path: string): Promise<void> {
    await this.call({ client: this.client, kind: "remove", path }, () => this.program.unlink(path));
  }

  private async rename(path: string, toPath: string): Promise<void> {
    if (path === toPath) return;
    await this.call({ client: this.client, kind: "rename", path, toPath }, () => this.program.rename(path, toPath));
  }

  private async makeFolder(path: string): Promise<void> {
    await this.call({ client: this.client, kind: "make", path }, () => this.program.mkdir(path));
  }
}
