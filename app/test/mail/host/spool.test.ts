// Cuts mails into parts and puts them together again, over real files.
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { isRunnelError } from "@runnel/shared";
import fc from "fast-check";
import { openSpool } from "../../../src/mail/host/spool.ts";
import type { MailFile, MailFiles } from "../../../src/mail/mail-files.ts";
import { type ReferencedPart, formatReference } from "../../../src/mail/reference.ts";

let folder: string;
let open: () => MailFiles;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "rnl-spool-"));
  open = await openSpool(folder);
});
afterAll(() => rmSync(folder, { recursive: true }));

async function* pieces(bytes: Uint8Array, pieceBytes = 1000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}

async function all(bytes: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const got: Uint8Array[] = [];
  for await (const each of bytes) got.push(each);
  return Buffer.concat(got);
}

/** A mail's content as it goes to another relay, and what lies in the volume. */
async function split(mail: Uint8Array, smallestBytes: number): Promise<{ content: Buffer; objects: Buffer[] }> {
  await using files = open();
  const file = await files.receive(pieces(mail), 1e9);
  const { digest, parts } = await files.cut(file, smallestBytes);
  const objects: Buffer[] = [];
  const referenced: ReferencedPart[] = [];
  for (const { path, offset, length, base64Line } of parts) {
    const bytes = await readFile(path);
    referenced.push({
      offset,
      length,
      base64Line,
      oid: objects.length.toString(16).padStart(64, "0"),
      sizeBytes: bytes.length,
    });
    objects.push(bytes);
  }
  if (parts.length === 0) return { content: Buffer.concat([Buffer.from("runnel-mail/1 whole\r\n"), mail]), objects };
  const beginning = formatReference({ sizeBytes: mail.length, digest, parts: referenced });
  return { content: Buffer.concat([beginning, await all(files.read(file, referenced)), Buffer.from("\r\n")]), objects };
}

async function rejoined(content: Uint8Array, objects: readonly Uint8Array[]): Promise<Buffer> {
  await using files = open();
  const came: MailFile = await files.receive(pieces(content, 77), 1e9);
  const { reference, restOffset, restBytes } = await files.readFrame(came);
  const rest = { ...came, offset: restOffset, sizeBytes: restBytes ?? came.sizeBytes - restOffset };
  if (reference === undefined) return await all(files.read(rest));
  const made = await files.rebuild(rest, reference, (oid) =>
    pieces(objects[Number.parseInt(oid, 16)] ?? Buffer.alloc(0), 50),
  );
  return await all(files.read(made));
}

const attachment = fc
  .tuple(fc.uint8Array({ maxLength: 500 }), fc.constantFrom(76, 60, 20), fc.constantFrom("base64", "8bit", "BASE64 "))
  .map(([bytes, characters, encoding]) => {
    const text = Buffer.from(bytes).toString("base64");
    const lines = text.match(new RegExp(`.{1,${characters}}`, "g")) ?? [];
    return `--b\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${lines.join("\r\n")}\r\n`;
  });
const line = fc.constantFrom(
  ".",
  "..",
  "--b",
  "--b--",
  "",
  "text",
  "\0\u00FF",
  "Content-Type: multipart/mixed; boundary=b",
  "x".repeat(300),
);
const mails = fc
  .array(
    fc.oneof(
      attachment,
      line.map((each) => `${each}\r\n`),
    ),
    { maxLength: 12 },
  )
  .chain((parts) =>
    fc.constantFrom(parts.join(""), `Content-Type: multipart/mixed; boundary="b"\r\n\r\n${parts.join("")}`),
  );

describe("the spool", () => {
  test("puts a mail together byte for byte, whatever it is", async () => {
    await fc.assert(
      fc.asyncProperty(mails, fc.integer({ min: 1, max: 200 }), async (text, smallestBytes) => {
        const mail = Buffer.from(text, "latin1");
        const { content, objects } = await split(mail, smallestBytes);
        expect((await rejoined(content, objects)).equals(mail)).toBe(true);
      }),
      { numRuns: 150 },
    );
    expect(readdirSync(folder)).toEqual([]);
  });

  test("takes no other mail for the one that was sent: objects, rest and digest are compared", async () => {
    const bytes = Buffer.alloc(400, 7);
    const mail = Buffer.from(`Content-Transfer-Encoding: base64\r\n\r\n${bytes.toString("base64")}\r\n`);
    const { content, objects } = await split(mail, 100);
    expect(objects).toEqual([bytes]);
    const kindOf = (made: Promise<unknown>): Promise<string> =>
      made.then(
        () => "taken",
        (error: unknown) => (isRunnelError(error) ? error.kind : "other"),
      );
    expect(await kindOf(rejoined(content, [Buffer.alloc(400, 8)]))).toBe("Corrupt");
    expect(await kindOf(rejoined(content, [Buffer.alloc(399, 7)]))).toBe("Corrupt");
    expect(await kindOf(rejoined(content, [Buffer.alloc(401, 7)]))).toBe("Corrupt");
    const other = Buffer.from(content.toString("latin1").replace("Content-T", "Content-X"), "latin1");
    expect(await kindOf(rejoined(other, objects))).toBe("Corrupt");
    expect(await kindOf(rejoined(content.subarray(0, -30), objects))).toBe("Io");
    expect(readdirSync(folder)).toEqual([]);
  });

  test("refuses what is too large, has other line ends, or was cut, and leaves nothing", async () => {
    await using files = open();
    await expect(files.receive(pieces(Buffer.alloc(11)), 10)).rejects.toMatchObject({ kind: "TooLarge" });
    await expect(files.receive(pieces(Buffer.from("a\nb")), 10)).rejects.toMatchObject({ kind: "Invalid" });
    const cut = (async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from("a");
      throw new Error("The sender went.");
    })();
    await expect(files.receive(cut, 10)).rejects.toThrow(/./);
    await files[Symbol.asyncDispose]();
    expect(readdirSync(folder)).toEqual([]);
  });
});
