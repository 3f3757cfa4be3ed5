// A program that uses the client: what it is told to do is its first argument, and it prints one JSON object.
import { createHash, randomBytes } from "node:crypto";
import { type CopyProgress, connect } from "@runnel/app/client";

const CHUNK_BYTES = 1024 * 1024;

async function* stream(chunks: number, digest: ReturnType<typeof createHash>): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < chunks; index++) {
    const bytes = randomBytes(CHUNK_BYTES);
    digest.update(bytes);
    yield bytes;
  }
}

/** Puts a stream, and gets it back in order and out of order: all three digests are the same. */
async function there(chunks: string): Promise<object> {
  using client = await connect();
  const put = createHash("sha256");
  let putDone = 0;
  const { uri, size } = await client.put(stream(Number(chunks), put), { progress: (done) => (putDone = done) });
  const got = createHash("sha256");
  let getDone = 0;
  for await (const bytes of client.get(uri, { progress: (done) => (getDone = done) })) got.update(bytes);
  const whole = Buffer.alloc(size);
  for await (const { offset, bytes } of client.getUnordered(uri)) whole.set(bytes, offset);
  const unordered = createHash("sha256").update(whole);
  const [one, ...others] = [put, got, unordered].map((digest) => digest.digest("hex"));
  return { uri, size, putDone, getDone, isSame: others.every((other) => other === one) };
}

/** Ends a get after its first bytes, and a put before it begins; the connection serves on. */
async function interrupted(uri: string): Promise<object> {
  using client = await connect();
  const stop = new AbortController();
  const kinds: string[] = [];
  const note = (error: unknown): void => void kinds.push((error as { kind: string }).kind);
  try {
    for await (const _ of client.get(uri, { signal: stop.signal })) stop.abort();
  } catch (error) {
    note(error);
  }
  await client.put(stream(1, createHash("sha256")), { signal: stop.signal }).catch(note);
  const late = new AbortController();
  const endless = async function* (): AsyncGenerator<Uint8Array> {
    for (;;) {
      yield new Uint8Array(1000);
      late.abort();
    }
  };
  await client.put(endless(), { signal: late.signal }).catch(note);
  for await (const _ of client.get(uri)) break;
  let bytes = 0;
  for await (const each of client.get(uri)) bytes += each.length;
  return { kinds, bytes };
}

/** Gets into a file, puts that in fixed chunks and gets it, and copies a folder: to a volume, and back beside it. */
async function files(uri: string, folder: string, volume: string): Promise<object> {
  using client = await connect();
  const mode = process.umask(0o027);
  const done: number[] = [];
  const got = await client.getToFile(uri, `${folder}/got`, { progress: (bytes) => void done.push(bytes) });
  process.umask(mode);
  const fixed = await client.put(`${folder}/got`, { to: volume, chunks: "fixed" });
  await client.getToFile(fixed.uri, `${folder}/fixed`);
  const progress: CopyProgress[] = [];
  const copied = await client.copy(`${folder}/tree`, `${volume}/tree`, {
    isRecursive: true,
    progress: (part) => void progress.push(part),
  });
  const back = await client.copy(`${volume}/tree`, `${folder}/back`, { isRecursive: true });
  const ended = { signal: AbortSignal.abort() };
  const kinds: string[] = [];
  for (const refused of [
    () => client.getToFile(uri, `${folder}/never`, ended),
    () => client.copy(`${folder}/got`, `${volume}/never`, ended),
    () => client.copy(`${folder}/tree`, `${volume}/never`),
    () => client.copy(`${folder}/nothing`, `${volume}/never`),
  ])
    await refused().catch((error: unknown) => kinds.push((error as { kind: string }).kind));
  return { got, done, fixed: fixed.oid, progress, copied, back, kinds };
}

const [command, ...args] = process.argv.slice(2);
const [first = "", folder = "", volume = ""] = args;
const COMMANDS = {
  there: () => there(first),
  interrupted: () => interrupted(first),
  files: () => files(first, folder, volume),
};
console.log(JSON.stringify(await COMMANDS[command as keyof typeof COMMANDS]()));
