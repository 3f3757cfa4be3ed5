// The stand-in for WinFsp in an agent under Wine, asked over the port that programs.mjs listens at.
import { once } from "node:events";
import { type Socket, connect } from "node:net";
import { createInterface } from "node:readline";
import type { StandIn, StandInReply } from "@runnel/native/test/support/windows-program.ts";

type Told = { id: number } & ({ told: unknown } | { error: string });

/** Differs from the agent's own in what is answered at once there. */
export class RemoteStandIn implements Pick<StandIn, "ask"> {
  readonly #socket: Socket;
  readonly #waiting = new Map<number, { resolve(told: unknown): void; reject(error: Error): void }>();
  #next = 1;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("error", () => {}); // "close" follows.
    createInterface({ input: socket }).on("line", (line) => this.#take(line));
    socket.on("close", () => {
      for (const { reject } of this.#waiting.values()) reject(new Error("The agent has ended."));
      this.#waiting.clear();
    });
  }

  static async open(port: number): Promise<RemoteStandIn> {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    return new RemoteStandIn(socket);
  }

  ask(call: string, args: object, mountpoint?: string): Promise<StandInReply> {
    return this.#call(call, args, mountpoint) as Promise<StandInReply>;
  }

  volume(mountpoint?: string): Promise<ReturnType<StandIn["volume"]>> {
    return this.#call("volume!", {}, mountpoint) as Promise<ReturnType<StandIn["volume"]>>;
  }

  /** Resolves to the notifications since the last call. */
  heard(mountpoint?: string): Promise<ReturnType<StandIn["heard"]>> {
    return this.#call("heard!", {}, mountpoint) as Promise<ReturnType<StandIn["heard"]>>;
  }

  /** Ends the program: what it has open is closed. */
  close(): void {
    this.#socket.destroy();
  }

  #call(call: string, args: object, at?: string): Promise<unknown> {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      if (this.#socket.destroyed) return reject(new Error("The agent has ended."));
      this.#waiting.set(id, { resolve, reject });
      this.#socket.write(`${toText({ id, call, args, at })}\n`);
    });
  }

  #take(line: string): void {
    const told = toValue(line) as Told;
    const waiting = this.#waiting.get(told.id);
    this.#waiting.delete(told.id);
    if ("error" in told) waiting?.reject(new Error(told.error));
    else waiting?.resolve(told.told);
  }
}

/** Numbers beyond 2^53 and bytes are objects of their own in JSON. */
function toText(value: unknown): string {
  return JSON.stringify(value, function write(this: Record<string, unknown>, key: string, shown: unknown) {
    const raw = this[key];
    if (typeof raw === "bigint") return { big: String(raw) };
    return raw instanceof Uint8Array ? { b64: Buffer.from(raw).toString("base64") } : shown;
  });
}

function toValue(text: string): unknown {
  return JSON.parse(text, (_key, value: { big?: unknown; b64?: unknown } | null) => {
    if (typeof value?.big === "string") return BigInt(value.big);
    return typeof value?.b64 === "string" ? Buffer.from(value.b64, "base64") : value;
  });
}
