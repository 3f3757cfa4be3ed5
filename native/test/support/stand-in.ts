// A connection to the stand-in for WinFsp's driver (test/winfsp), which takes it for a program of Windows. The records
// are described in test/winfsp/record.h.
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { type Socket, connect } from "node:net";
import { basename, dirname, join } from "node:path";

export interface FileInfo {
  attributes: number;
  tag: number;
  sizeBytes: number;
  allocatedBytes: number;
  /** 100 ns since 1601. */
  creation: bigint;
  access: bigint;
  write: bigint;
  change: bigint;
  index: number;
}

export interface StandInReply {
  status: number;
  handle: number;
  text: string;
  bytes: Buffer;
  info?: FileInfo;
  names: (FileInfo & { name: string })[];
  totalBytes: number;
  freeBytes: number;
  label: string;
}

/** Arguments of a request. One that is left out is 0 or empty; without a disposition it opens what is there. */
export interface Asked {
  path?: string;
  to?: string;
  bytes?: Uint8Array;
  disposition?: number;
  access?: number;
  options?: number;
  attributes?: number;
  handle?: number;
  offset?: number;
  size?: number;
  atime?: bigint;
  mtime?: bigint;
  isOn?: boolean;
}

export interface VolumeParams {
  mountpoint: string;
  prefix: string;
  device: string;
  isReadOnly: boolean;
  isCaseSensitive: boolean;
  hasStreams: boolean;
  fileInfoTimeoutMs: number;
}

interface Row {
  text: string;
  numbers: bigint[];
}

interface Answer {
  status: number;
  handle: number;
  bytes: Buffer;
  rows: Row[];
}

const NUMBER_BYTES = 8;
const OPENS_WHAT_IS_THERE = 1;

/** Files with the ports of a library, one for each process that used it, which may have ended. */
export function portFilesOf(library: string): string[] {
  const names = readdirSync(dirname(library)).filter((name) => name.startsWith(`${basename(library)}.port`));
  return names.map((name) => join(dirname(library), name));
}

export class StandIn {
  readonly #socket: Socket;
  readonly #waiting = new Map<bigint, { resolve(answer: Answer): void; reject(error: Error): void }>();
  #received: Buffer = Buffer.alloc(0);
  #next = 1n;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("error", () => {}); // "close" follows.
    socket.on("data", (bytes: Buffer) => this.#take(bytes));
    socket.on("close", () => {
      for (const { reject } of this.#waiting.values()) reject(new Error("The agent has ended."));
      this.#waiting.clear();
    });
  }

  /** Begins a program. @throws Error when nothing listens at the port of 127.0.0.1. */
  static async open(port: number): Promise<StandIn> {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    return new StandIn(socket.setNoDelay());
  }

  /** Makes a request. `mountpoint`: letter or share of the drive that is meant; left out: the last that was made. */
  async ask(call: string, asked: Asked, mountpoint = ""): Promise<StandInReply> {
    const { status, handle, bytes, rows } = await this.#call(call, asked, mountpoint);
    const [own, volume, ...names] = rows;
    return {
      status,
      handle,
      bytes,
      text: own?.text ?? "",
      ...(own !== undefined && own.numbers.length > 0 ? { info: infoOf(own) } : {}),
      names: names.map((row) => ({ name: row.text, ...infoOf(row) })),
      totalBytes: Number(volume?.numbers[0] ?? 0),
      freeBytes: Number(volume?.numbers[1] ?? 0),
      label: volume?.text ?? "",
    };
  }

  /** Resolves to what those who watch the drive were told since the last call. */
  async heard(mountpoint = ""): Promise<[action: number, filter: number, path: string][]> {
    const { rows } = await this.#call("heard", {}, mountpoint);
    return rows.map(({ text, numbers: [action, filter] }) => [Number(action), Number(filter), text]);
  }

  /** Resolves to what the drive told the driver of itself. @throws Error when there is no such drive. */
  async volume(mountpoint = ""): Promise<VolumeParams> {
    const { rows } = await this.#call("params", {}, mountpoint);
    const [letter, prefix, device] = rows;
    if (letter === undefined || prefix === undefined || device === undefined)
      throw new Error(`There is no drive at ${mountpoint}.`);
    const [isReadOnly, isCaseSensitive, hasStreams, fileInfoTimeoutMs] = letter.numbers.map(Number);
    return {
      mountpoint: letter.text,
      prefix: prefix.text,
      device: device.text,
      isReadOnly: isReadOnly !== 0,
      isCaseSensitive: isCaseSensitive !== 0,
      hasStreams: hasStreams !== 0,
      fileInfoTimeoutMs: fileInfoTimeoutMs ?? 0,
    };
  }

  /** Ends the drive from outside, as when WinFsp is removed. */
  async endOutside(mountpoint = ""): Promise<void> {
    await this.#call("end", {}, mountpoint);
  }

  /** Ends the program: what it has open is closed. */
  close(): void {
    this.#socket.destroy();
  }

  #call(call: string, asked: Asked, mountpoint: string): Promise<Answer> {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      if (this.#socket.destroyed) return reject(new Error("The agent has ended."));
      this.#waiting.set(id, { resolve, reject });
      this.#socket.write(requestOf(id, call, asked, mountpoint));
    });
  }

  #take(bytes: Buffer): void {
    this.#received = Buffer.concat([this.#received, bytes]);
    while (this.#received.length >= NUMBER_BYTES) {
      const end = NUMBER_BYTES + Number(this.#received.readBigUInt64LE());
      if (this.#received.length < end) return;
      const { id, answer } = answerOf(new Reader(this.#received.subarray(NUMBER_BYTES, end)));
      this.#received = this.#received.subarray(end);
      this.#waiting.get(id)?.resolve(answer);
      this.#waiting.delete(id);
    }
  }
}

function infoOf({ numbers }: Row): FileInfo {
  const [attributes, tag, size, allocated, creation = 0n, access = 0n, write = 0n, change = 0n, index] = numbers;
  return {
    attributes: Number(attributes),
    tag: Number(tag),
    sizeBytes: Number(size),
    allocatedBytes: Number(allocated),
    creation,
    access,
    write,
    change,
    index: Number(index),
  };
}

function numberOf(value: number | bigint | boolean): Buffer {
  const bytes = Buffer.alloc(NUMBER_BYTES);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

const framed = (bytes: Uint8Array): Buffer => Buffer.concat([numberOf(bytes.length), bytes]);

function requestOf(id: bigint, call: string, asked: Asked, mountpoint: string): Buffer {
  const { path = "", to = "", bytes = Buffer.alloc(0), disposition = OPENS_WHAT_IS_THERE } = asked;
  const { access = 0, options = 0, attributes = 0, handle = 0, offset = 0, size = 0 } = asked;
  const { atime = 0, mtime = 0, isOn = false } = asked;
  const texts = [call, mountpoint, path, to].map((text) => framed(Buffer.from(text, "utf16le")));
  const numbers = [disposition, access, options, attributes, handle, offset, size, atime, mtime, isOn].map(numberOf);
  return framed(Buffer.concat([numberOf(id), ...texts, framed(bytes), ...numbers]));
}

class Reader {
  readonly #from: Buffer;
  #at = 0;

  constructor(from: Buffer) {
    this.#from = from;
  }

  number(): bigint {
    this.#at += NUMBER_BYTES;
    return this.#from.readBigUInt64LE(this.#at - NUMBER_BYTES);
  }

  bytes(): Buffer {
    const length = Number(this.number());
    this.#at += length;
    return this.#from.subarray(this.#at - length, this.#at);
  }

  list<T>(read: () => T): T[] {
    return Array.from({ length: Number(this.number()) }, read);
  }
}

function answerOf(reader: Reader): { id: bigint; answer: Answer } {
  const id = reader.number();
  const answer = { status: Number(reader.number()), handle: Number(reader.number()), bytes: reader.bytes() };
  const rows = reader.list(() => ({
    text: reader.bytes().toString("utf16le"),
    numbers: reader.list(() => reader.number()),
  }));
  return { id, answer: { ...answer, rows } };
}
