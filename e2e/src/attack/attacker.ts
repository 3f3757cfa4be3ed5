// A client that keeps no rule, in a process of its own: node attacker.ts PORT MS ATTACK TOKEN FINGERPRINT NODE VERSION
// Attacks a server with TLS for so long. What the server does about it is for others to measure.
import { type Socket, connect } from "node:net";
import { zstdCompressSync } from "node:zlib";
import {
  FRAME,
  type FrameKind,
  LIMITS,
  type Link,
  RealClock,
  WsDialer,
  encodeFrame,
  encodeMessage,
  encodeVarint,
  sleep,
} from "@runnel/shared";

const [port = "", lasts = "", asked = "", token = "", fingerprint = "", ...file] = process.argv.slice(2);
/** The version of a file of some mebibytes. */
const version = file.map(Number);
const dialer = new WsDialer(() => ({ fingerprint }));
const clock = new RealClock();
const endMs = clock.bootMs() + Number(lasts);
const MiB = 1024 * 1024;
const FEED = 3;
const HELLO_MS = 50;
/** Size of a message that the server still takes. */
const LARGEST = LIMITS.controlBytes - 1024;

/** A link, and what is said on it frame by frame. */
class Bent {
  private readonly link: Link;
  private readonly whenClosed: Promise<void>;
  isClosed = false;
  private channel = FEED;

  /** `isReading`: what the server says is taken. */
  constructor(link: Link, isReading: boolean) {
    this.link = link;
    this.whenClosed = new Promise((resolve) => {
      const closed = (): void => {
        this.isClosed = true;
        resolve();
      };
      if (isReading) link.listen({ message: () => undefined, closed });
    });
  }

  /** Returns undefined when the server did not take the connection. */
  static async open(isReading: boolean): Promise<Bent | undefined> {
    try {
      return new Bent(await dialer.dial(`wss://127.0.0.1:${port}`), isReading);
    } catch {
      return undefined;
    }
  }

  say(kind: FrameKind, channel: number, payload: Uint8Array, isCompressed = false): void {
    if (!this.isClosed) this.link.send(encodeFrame({ kind, channel, isCompressed, payload }));
  }

  /** Opens a channel; returns its number. */
  request(kind: FrameKind, operation: string, fields: object): number {
    this.channel += 2;
    this.say(kind, this.channel, encodeMessage([operation, fields]));
    return this.channel;
  }

  /** Logs in first: what is said before that counts as unauthenticated. */
  async hello(): Promise<void> {
    this.say(FRAME.call, 1, encodeMessage(["hello", { protocol: 1, software: "attacker", token }]));
    await this.held(HELLO_MS);
  }

  attach(fields: object = {}): void {
    this.say(
      FRAME.open,
      FEED,
      encodeMessage(["attach", { volume: "docs", instance: newInstance(), wantsNodes: false, ...fields }]),
    );
  }

  /** Until it is closed, or so long. */
  async held(forMs: number): Promise<void> {
    await Promise.race([this.whenClosed, sleep(clock, Math.min(forMs, leftMs()))]);
  }

  end(): void {
    this.link.close(1000, "");
  }
}

function leftMs(): number {
  return Math.max(0, endMs - clock.bootMs());
}

let instances = 0;
function newInstance(): string {
  return `${process.pid}f${++instances}`.padStart(32, "0");
}

/** Compresses the largest message that has nothing but these: it is some bytes on the wire. */
function bomb(message: unknown): Uint8Array {
  const bytes = encodeMessage(message);
  return Buffer.concat([encodeVarint(bytes.length), zstdCompressSync(bytes)]);
}

const ofNumbers = (length = LARGEST): number[] => Array.from({ length }, () => 0);
const ofMaps = (): object[] => Array.from({ length: LARGEST }, () => ({}));

function writeOf(n: number, sizeBytes: number): object {
  const operation = { attachment: FEED, n, received: 0, timeNs: 1n, attributes: {}, isResumed: false };
  return { ...operation, node: 2, base: 0, sizeBytes };
}

/** Keeps `count` connections at work; each begins anew as often as it ends. */
async function crowd(count: number, act: (bent: Bent) => Promise<void>, isReading = true): Promise<void> {
  const one = async (): Promise<void> => {
    while (leftMs() > 0) {
      const bent = await Bent.open(isReading);
      if (bent === undefined) {
        await sleep(clock, 20);
        continue;
      }
      await act(bent);
      bent.end();
    }
  };
  await Promise.all(Array.from({ length: count }, one));
}

const ATTACKS: Record<string, () => Promise<void>> = {
  /** Sends messages without having logged in, which would grow when they are unfolded. */
  async unauthenticated() {
    const large = bomb(ofMaps());
    await crowd(64, async (bent) => {
      bent.say(FRAME.open, 1, encodeMessage(["hello", { protocol: 1, software: "attacker" }]));
      for (let count = 0; count < 150; count++) bent.say(FRAME.item, 1, large, true);
      await bent.held(1_000);
    });
  },

  /** Connects and says nothing, or half a request. */
  async silence() {
    const sockets = new Set<Socket>();
    while (leftMs() > 0) {
      for (let count = 0; count < 100; count++) {
        const socket = connect(Number(port), "127.0.0.1").on("error", () => undefined);
        socket.once("close", () => sockets.delete(socket));
        socket.write(count % 2 === 0 ? "" : "\u0016\u0003");
        sockets.add(socket);
      }
      await sleep(clock, 100);
    }
    for (const socket of sockets) socket.destroy();
  },

  /** Items that grow when they are unfolded, faster than they are handled. */
  async items() {
    const [numbers, maps] = [bomb(ofNumbers()), bomb(ofMaps())];
    await crowd(16, async (bent) => {
      await bent.hello();
      bent.attach();
      const channel = bent.request(FRAME.open, "write", writeOf(1, MiB));
      for (let count = 0; count < 150; count++) bent.say(FRAME.item, channel, count % 2 === 0 ? numbers : maps, true);
      await bent.held(500);
    });
  },

  /** Bulk of writes that goes on and is never a run, and bulk that was never announced. */
  async bulk() {
    const frame = new Uint8Array(LIMITS.bulkFrameBytes);
    await crowd(16, async (bent) => {
      await bent.hello();
      bent.attach();
      for (let count = 1; count < 200 && !bent.isClosed; count++) {
        const channel = bent.request(FRAME.open, "write", writeOf(count, 4 * MiB));
        if (count % 2 === 0) bent.say(FRAME.item, channel, encodeMessage(["d", "raw", MiB, MiB]));
        for (let sent = frame.length; sent < MiB; sent += frame.length) bent.say(FRAME.bulk, channel, frame);
        await bent.held(1);
      }
      await bent.held(500);
    });
  },

  /** Unfinished writes, of runs that grow. */
  async runs() {
    const runs = Array.from({ length: 16 }, (_, index) => {
      const bytes = Buffer.alloc(MiB);
      for (let at = 0; at < MiB; at += 1024) bytes.writeUInt32LE(at * 16 + index, at);
      return encodeMessage(["d", "zstd", MiB, zstdCompressSync(bytes)]);
    });
    await crowd(16, async (bent) => {
      await bent.hello();
      bent.attach();
      for (let count = 1; count < 900 && !bent.isClosed; count++) {
        const channel = bent.request(FRAME.open, "write", writeOf(count, 64 * MiB));
        for (const run of runs.slice(0, 1 + (count % 16))) bent.say(FRAME.item, channel, run);
        await bent.held(count % 50 === 0 ? 50 : 0);
      }
      await bent.held(1_000);
    });
  },

  /** Requests that grow, as many as are taken. */
  async requests() {
    const large = bomb(["stat", { attachment: FEED, nodes: ofNumbers(LIMITS.requestValues - 100), names: [] }]);
    await crowd(16, async (bent) => {
      await bent.hello();
      bent.attach();
      for (let channel = FEED + 2; !bent.isClosed && leftMs() > 0; await bent.held(50))
        for (let count = 0; count < 15; count++, channel += 2) bent.say(FRAME.call, channel, large, true);
    });
  },

  /** Answers that are asked for and not read. */
  async unread() {
    const nodes = Array.from({ length: LIMITS.statNodes }, () => 1);
    const ask = async (bent: Bent): Promise<void> => {
      await bent.hello();
      bent.attach();
      for (let count = 0; count < 900; count++)
        bent.request(FRAME.call, "stat", { attachment: FEED, nodes, names: [] });
      await bent.held(3_000);
    };
    await crowd(64, ask, false);
  },

  /** Contents that are asked for and not read. */
  async fetches() {
    const whole = { attachment: FEED, version, held: [], hasRecipe: true, offset: 0, length: 16 * MiB };
    const versions = Array.from({ length: LIMITS.findGetVersions }, () => version);
    const ask = async (bent: Bent): Promise<void> => {
      await bent.hello();
      bent.attach();
      for (let count = 0; count < 900; count++)
        if (count % 9 === 0) bent.request(FRAME.call, "findGet", { attachment: FEED, versions });
        else bent.request(FRAME.call, "fetch", whole);
      await bent.held(3_000);
    };
    await crowd(32, ask, false);
  },

  /** Attachments that follow as much as one may. */
  async followers() {
    const follows = Array.from({ length: LIMITS.followedFolders }, (_, index) => index + 1);
    await crowd(16, async (bent) => {
      await bent.hello();
      bent.attach({ follows });
      for (let count = 1; count < LIMITS.attachments && !bent.isClosed; count++) {
        bent.request(FRAME.open, "attach", { volume: "docs", instance: newInstance(), wantsNodes: false, follows });
        await bent.held(20);
      }
      await bent.held(2_000);
    });
  },
};

await ATTACKS[asked]?.();
