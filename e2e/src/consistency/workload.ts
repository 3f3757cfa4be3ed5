// Programs of a simulation: each does its steps of the plan, one after another, and every call is put down in the
// history.
import { constants } from "node:fs";
import type { Program } from "@runnel/native/drive";
import type { Executor } from "@runnel/shared";
import { SeededRandom, isRunnelError, sleep } from "@runnel/shared";
import { type Call, type History, type Observation, isChange } from "./check/history.ts";
import type { Step } from "./plan.ts";
import type { RunningAgent, SimulatedClient } from "./simulated-client.ts";
import { keyOf } from "./check/truth.ts";

const ENOENT = 2;
const REPEATED_BYTES = 65_536;

export interface WorkloadParts {
  client: SimulatedClient;
  history: History;
  executor: Executor;
  /** Seed of the plan: what is written hangs on it and on the step alone. */
  seed: number;
  /** When the work begins, on the simulation's clock. */
  beginMs: number;
}

/** Asked of the agent, not of its drive: it says no in words. */
function isVerb(kind: Call["kind"]): boolean {
  return kind === "flush" || kind === "removeTree";
}

/** Resolves when all steps have been done, or tried. */
export async function runProgram(parts: WorkloadParts, steps: readonly Step[]): Promise<void> {
  const { client, beginMs } = parts;
  const { clock } = client.machine;
  for (const step of steps) {
    await sleep(clock, Math.max(0, beginMs + step.atMs - clock.bootMs()));
    while (client.agent === undefined) await sleep(clock, 50);
    await new Promise<void>((resolve) => client.machine.whenAwake(resolve));
    if (client.agent === undefined) continue;
    await new Doer(parts, client.agent, step).act();
  }
}

/** Does what a running agent is asked for. */
class Doer {
  private readonly parts: WorkloadParts;
  private readonly agent: RunningAgent;
  private readonly step: Step;
  private readonly program: Program;
  private readonly random: SeededRandom;

  constructor(parts: WorkloadParts, agent: RunningAgent, step: Step) {
    this.parts = parts;
    this.agent = agent;
    this.step = step;
    this.program = agent.kernel.program();
    const { client, program, atMs } = step;
    this.random = new SeededRandom(parts.seed ^ Math.imul(atMs * 16 + client * 4 + program + 1, 0x9e3779b1));
  }

  async act(): Promise<void> {
    const { path, toPath = "", do: doing } = this.step;
    if (doing === "read") await this.read(path);
    else if (doing === "readNewest") await this.read(this.changedElsewhere() ?? path);
    else if (doing === "list") await this.list(path);
    else if (doing === "write") await this.write(path);
    else if (doing === "edit") await this.edit(path);
    else if (doing === "save") await this.saveByRename(path);
    else if (doing === "create") await this.create(path);
    else if (doing === "remove") await this.remove(path);
    else if (doing === "rename") await this.rename(path, toPath);
    else if (doing === "link") await this.link(path, toPath);
    else if (doing === "flush") await this.flush();
    else if (doing === "removeTree") await this.removeTree(path);
    else await this.makeFolder(path);
  }

  /** Path that another client's program changed last. */
  private changedElsewhere(): string | undefined {
    const { history } = this.parts;
    const last = history.calls.findLast(
      ({ client, kind, outcome }) => client !== this.client && outcome === "ok" && isChange(kind),
    );
    return last?.toPath ?? last?.path;
  }

  private async bytes(): Promise<{ bytes: Uint8Array; key: string }> {
    const bytes = this.contentOfStep();
    return { bytes, key: keyOf(await this.parts.executor.chunkBytes(bytes)) };
  }

  /** The same bytes again and again for a large one: that costs little, and it is a content of its own all the same. */
  private contentOfStep(): Uint8Array {
    const { sizeBytes = 0 } = this.step;
    if (sizeBytes <= REPEATED_BYTES) return this.random.bytes(sizeBytes);
    const once = this.random.bytes(REPEATED_BYTES);
    const bytes = new Uint8Array(sizeBytes);
    for (let at = 0; at < sizeBytes; at += once.length) bytes.set(once.subarray(0, sizeBytes - at), at);
    return bytes;
  }

  private async call(
    begun: Pick<Call, "client" | "kind" | "path" | "toPath" | "content">,
    work: (call: Call) => Promise<void>,
  ): Promise<Call> {
    const { history } = this.parts;
    const call = history.begin(begun);
    const { heardSeq } = this.parts.client;
    if (heardSeq !== undefined) call.heardSeq = heardSeq;
    const { mount, process } = this.agent;
    const before = mount.statistics().offlineAnswers;
    try {
      await Promise.race([work(call), this.agent.ended]);
      history.end(call, "ok");
    } catch (error) {
      const { errno } = error as { errno?: number };
      const isRefused = isVerb(call.kind) && isRunnelError(error) && !process.isDead;
      if (errno === undefined && !process.isDead && !isRefused) throw error;
      if (errno !== undefined) call.errno = errno;
      if (errno !== undefined || isRefused) history.end(call, "failed");
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

  private async contentOf(path: string): Promise<Observation> {
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

  /** Reads in several steps, between which much can happen. */
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

  private async write(path: string): Promise<Call> {
    const { bytes, key } = await this.bytes();
    return this.call({ client: this.client, kind: "write", path, content: key }, async (call) => {
      const fd = await this.program.open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC);
      try {
        // Makes a save of an empty file, too: the close of one that was only made does not wait for the server.
        await this.program.ftruncate(fd, 0);
        if (bytes.length > 0) await this.program.write(fd, 0, bytes);
        await this.hold(call);
        if (this.random.coin(0.2)) await this.program.fsync(fd);
      } catch (error) {
        await this.program.close(fd).catch(() => undefined);
        throw error;
      }
      await this.program.close(fd);
    });
  }

  /** A new one and no other, with nothing in it. */
  private async create(path: string): Promise<void> {
    await this.call({ client: this.client, kind: "create", path }, async () => {
      await this.program.close(
        await this.program.open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL),
      );
    });
  }

  /** A few bytes in the middle of what is there. */
  private async edit(path: string): Promise<void> {
    const { random } = this;
    const patch = random.bytes(8);
    await this.call({ client: this.client, kind: "write", path }, async (call) => {
      const fd = await this.program.open(path, constants.O_RDWR);
      try {
        const bytes = await this.readAll(fd);
        call.from = keyOf(await this.parts.executor.chunkBytes(bytes));
        const at = bytes.length < patch.length ? 0 : random.below(bytes.length - patch.length + 1);
        const edited = new Uint8Array(Math.max(bytes.length, at + patch.length));
        edited.set(bytes);
        edited.set(patch, at);
        call.content = keyOf(await this.parts.executor.chunkBytes(edited));
        await this.program.write(fd, at, patch);
        await this.hold(call);
      } catch (error) {
        await this.program.close(fd).catch(() => undefined);
        throw error;
      }
      await this.program.close(fd);
    });
  }

  /** The program goes on to think, with the file open. */
  private async hold(call: Call): Promise<void> {
    call.wrote = this.parts.history.step++;
    const { holdsMs = 0 } = this.step;
    if (holdsMs === 0) return;
    const { clock } = this.parts.client.machine;
    const beganMs = clock.bootMs();
    await sleep(this.agent.process, holdsMs);
    call.heldMs = clock.bootMs() - beganMs;
  }

  private async flush(): Promise<void> {
    await this.call({ client: this.client, kind: "flush", path: "" }, async (call) => {
      const unsent = await this.agent.mount.flush(false);
      call.names = unsent.map(({ path }) => path);
    });
  }

  private async removeTree(path: string): Promise<void> {
    await this.call({ client: this.client, kind: "removeTree", path }, () => this.agent.mount.remove(path));
  }

  private async saveByRename(path: string): Promise<void> {
    const temp = `${path}.${this.client}`;
    const saved = await this.write(temp);
    if (saved.outcome === "ok") await this.rename(temp, path);
  }

  private async remove(path: string): Promise<void> {
    await this.call({ client: this.client, kind: "remove", path }, () => this.program.unlink(path));
  }

  private async rename(path: string, toPath: string): Promise<void> {
    if (path === toPath) return;
    await this.call({ client: this.client, kind: "rename", path, toPath }, () => this.program.rename(path, toPath));
  }

  private async link(path: string, toPath: string): Promise<void> {
    await this.call({ client: this.client, kind: "link", path, toPath }, () => this.program.link(path, toPath));
  }

  private async makeFolder(path: string): Promise<void> {
    await this.call({ client: this.client, kind: "make", path }, () => this.program.mkdir(path));
  }
}
