// Steps that the disk suites share.
import { expect } from "@jest/globals";
import type { ErrorKind } from "../../src/errors.ts";
import type { DiskEntry, DiskRoot } from "../../src/host/disk.ts";

export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
export const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/** Writes a whole file, new or not. */
export async function writeFile(root: DiskRoot, path: string, text: string): Promise<void> {
  const file = await root.open(path, "create");
  await file.truncate(0);
  await file.write(0, bytesOf(text));
  await file.close();
}

export async function readFile(root: DiskRoot, path: string): Promise<string> {
  const file = await root.open(path, "read");
  const { sizeBytes } = await file.stat();
  const text = textOf(await file.read(0, sizeBytes));
  await file.close();
  return text;
}

export async function listAll(root: DiskRoot, path: string): Promise<DiskEntry[]> {
  const all: DiskEntry[] = [];
  await root.list(path, (entries) => {
    all.push(...entries);
  });
  return all;
}

export async function namesIn(root: DiskRoot, path: string): Promise<(string | undefined)[]> {
  return (await listAll(root, path)).map((entry) => entry.name).sort();
}

/** The call fails with a RunnelError of this kind. */
export async function expectKind(call: Promise<unknown>, kind: ErrorKind): Promise<void> {
  await expect(call).rejects.toMatchObject({ name: "RunnelError", kind });
}
