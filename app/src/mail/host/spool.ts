// Mails of a relay on the disk, in the agent's home for its user alone, each until it is answered. Nothing here has to
// outlast a crash: until the next hop has a mail, it lies in the queue of whoever sent it.
// oxlint-disable-next-line no-restricted-imports -- digests of whole mails and names of temporary files
import { createHash, randomBytes } from "node:crypto";
import { type FileHandle, mkdir, open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { LIMITS, RunnelError, fromSystemError, isRunnelError } from "@runnel/shared/base";
import { Base64Decoder, Base64Encoder } from "../base64-lines.ts";
import { LineEnds } from "../line-ends.ts";
import type { CutPart, MailFile, MailFiles } from "../mail-files.ts";
import { type Body, MimeBodies } from "../mime-bodies.ts";
import { type FramedMail, type MailReference, type ReferencedPart, parseFramed } from "../reference.ts";

const PIECE_BYTES = 256 * 1024;
const RANDOM_BYTES = 12;

/** Makes the folder, without what a relay left that was killed: it is one relay's. */
export async function openSpool(folder: string): Promise<() => MailFiles> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true, force: true });
  } catch (error) {
    throw fromSystemError(error, "open the spool");
  }
  return () => new SpooledMail(folder);
}

class SpooledMail implements MailFiles {
  readonly #folder: string;
  readonly #made: string[] = [];

  constructor(folder: string) {
    this.#folder = folder;
  }

  receive(content: AsyncIterable<Uint8Array>, sizeBytesMax: number): Promise<MailFile> {
    return this.#write(async (append) => {
      const lineEnds = new LineEnds();
      let sizeBytes = 0;
      let failure: unknown;
      for await (const bytes of content) {
        sizeBytes += bytes.length;
        // Reads also what is refused to its end: the sender listens only then.
        lineEnds.take(bytes);
        if (sizeBytes > sizeBytesMax || !lineEnds.areRight || failure !== undefined) continue;
        await append(bytes).catch((error: unknown) => (failure = error));
      }
      if (failure !== undefined) throw failure;
      if (sizeBytes > sizeBytesMax)
        throw new RunnelError("TooLarge", "receive a mail", `The mail has more than ${sizeBytesMax} bytes`);
      if (!lineEnds.endedRight)
        throw new RunnelError("Invalid", "receive a mail", "A line of the mail has a CR or LF that stands alone");
    });
  }

  async readFrame(file: MailFile): Promise<FramedMail> {
    const sizeBytes = Math.min(file.sizeBytes, LIMITS.mailReferenceBytes);
    const beginning: Uint8Array[] = [];
    for await (const bytes of this.read({ ...file, sizeBytes })) beginning.push(bytes);
    return parseFramed(Buffer.concat(beginning));
  }

  async cut(file: MailFile, smallestBytes: number): Promise<{ digest: string; parts: readonly CutPart[] }> {
    const hash = createHash("sha256");
    const scanner = new MimeBodies(smallestBytes);
    for await (const bytes of this.read(file)) {
      hash.update(bytes);
      scanner.take(bytes);
    }
    const parts: CutPart[] = [];
    for (const body of scanner.end()) {
      const decoded = body.isBase64 ? await this.#decode(file, body) : undefined;
      parts.push(decoded ?? (await this.#cutRaw(file, body)));
    }
    return { digest: hash.digest("hex"), parts };
  }

  async rebuild(
    rest: MailFile,
    reference: MailReference,
    objectOf: (oid: string, sizeBytes: number) => AsyncIterable<Uint8Array>,
  ): Promise<MailFile> {
    const { parts, sizeBytes } = reference;
    const hash = createHash("sha256");
    const made = await this.#write(async (append) => {
      const add = async (bytes: Uint8Array): Promise<void> => {
        hash.update(bytes);
        await append(bytes);
      };
      let done = 0;
      let taken = 0;
      const addRest = async (upTo: number): Promise<void> => {
        const between = { ...rest, offset: rest.offset + taken, sizeBytes: upTo - done };
        for await (const bytes of this.read(between)) await add(bytes);
        taken += upTo - done;
        done = upTo;
      };
      for (const part of parts) {
        await addRest(part.offset);
        for await (const bytes of textOf(part, objectOf(part.oid, part.sizeBytes))) await add(bytes);
        done += part.length;
      }
      await addRest(sizeBytes);
    });
    if (made.sizeBytes !== sizeBytes || hash.digest("hex") !== reference.digest)
      throw new RunnelError("Corrupt", "put a mail together", "The mail is not the one that was sent.");
    return made;
  }

  async *read(file: MailFile, without: readonly { offset: number; length: number }[] = []): AsyncGenerator<Uint8Array> {
    const handle = await opened(file.path, "r");
    try {
      let at = 0;
      for (const { offset, length } of [...without, { offset: file.sizeBytes, length: 0 }]) {
        for (; at < offset; at += PIECE_BYTES)
          yield await readAt(handle, file.offset + at, Math.min(PIECE_BYTES, offset - at));
        at = offset + length;
      }
    } finally {
      await handle.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const path of this.#made) await rm(path, { force: true });
  }

  /** @returns undefined when the text is not to be had again from what it decodes to */
  async #decode(file: MailFile, { begin, end }: Body): Promise<CutPart | undefined> {
    const decoder = new Base64Decoder();
    let ended: ReturnType<Base64Decoder["end"]>;
    const { path } = await this.#write(async (append) => {
      for await (const text of this.read({ ...file, offset: file.offset + begin, sizeBytes: end - begin }))
        await append(decoder.take(text));
      ended = decoder.end();
      if (ended !== undefined) await append(ended.bytes);
    });
    if (ended === undefined) return undefined;
    return { path, offset: begin, length: ended.textBytes, base64Line: ended.lineCharacters };
  }

  async #cutRaw(file: MailFile, { begin, end }: Body): Promise<CutPart> {
    const { path } = await this.#write(async (append) => {
      const body = { ...file, offset: file.offset + begin, sizeBytes: end - begin };
      for await (const bytes of this.read(body)) await append(bytes);
    });
    return { path, offset: begin, length: end - begin, base64Line: undefined };
  }

  async #write(fill: (append: (bytes: Uint8Array) => Promise<void>) => Promise<void>): Promise<MailFile> {
    const path = join(this.#folder, randomBytes(RANDOM_BYTES).toString("hex"));
    this.#made.push(path);
    const handle = await opened(path, "wx");
    let sizeBytes = 0;
    try {
      await fill(async (bytes) => {
        if (bytes.length > 0) await handle.writeFile(bytes);
        sizeBytes += bytes.length;
      });
    } catch (error) {
      if (isRunnelError(error)) throw error;
      throw fromSystemError(error, "write a mail");
    } finally {
      await handle.close();
    }
    return { path, offset: 0, sizeBytes };
  }
}

/** The text of a part in the mail, of as many bytes as the reference says. @throws Corrupt for more or fewer */
async function* textOf(part: ReferencedPart, object: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const encoder = part.base64Line === undefined ? undefined : new Base64Encoder(part.base64Line);
  let left = part.sizeBytes;
  for await (const bytes of object) {
    left -= bytes.length;
    if (left < 0) break;
    yield encoder?.take(bytes) ?? bytes;
  }
  if (left !== 0) throw new RunnelError("Corrupt", "put a mail together", "An object is not as long as its URI says.");
  if (encoder !== undefined) yield encoder.end();
}

async function opened(path: string, flags: "r" | "wx"): Promise<FileHandle> {
  try {
    return await open(path, flags, 0o600);
  } catch (error) {
    throw fromSystemError(error, "open a mail");
  }
}

async function readAt(handle: FileHandle, offset: number, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  let done = 0;
  while (done < length) {
    const { bytesRead } = await handle.read(bytes, done, length - done, offset + done);
    if (bytesRead === 0) throw new RunnelError("Io", "read a mail", "A file of the spool is shorter than it was.");
    done += bytesRead;
  }
  return bytes;
}
