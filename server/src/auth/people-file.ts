// The file of the people who may sign in to the console [F210]: of a password it keeps what a slow function made of it,
// never the password itself.
import type { DiskRoot } from "@runnel/shared";
import { RunnelError, readWhole, replaceWhole } from "@runnel/shared";
import { z } from "zod";

export const PEOPLE_FILE = "people.json";
const FORMAT = 1;

export const ROLES = ["admin", "user"] as const;
export type Role = (typeof ROLES)[number];

const base64 = z.string().regex(/^[\w-]+$/);

const password = z.discriminatedUnion("kdf", [
  z.object({
    kdf: z.literal("argon2id"),
    memoryKib: z.int().min(8),
    passes: z.int().min(1),
    lanes: z.int().min(1),
    salt: base64,
    hash: base64,
  }),
  z.object({
    kdf: z.literal("scrypt"),
    cost: z.int().min(2),
    blockSize: z.int().min(1),
    lanes: z.int().min(1),
    salt: base64,
    hash: base64,
  }),
]);
export type StoredPassword = z.output<typeof password>;

const person = z.object({
  name: z.string(),
  role: z.enum(ROLES),
  createdMs: z.number(),
  /** Left out: this person cannot sign in, and owns devices only. */
  password: password.optional(),
});
export type Person = z.output<typeof person>;

const contents = z.object({ format: z.literal(FORMAT), people: z.array(person) });

/** @throws RunnelError Version for a newer format; Corrupt: nobody is let in or locked out by a damaged file. */
export async function readPeople(root: DiskRoot): Promise<Person[]> {
  const text = await readWhole(root, PEOPLE_FILE);
  if (text === undefined) return [];
  const value = parsed(text);
  const format = z.object({ format: z.number() }).safeParse(value).data?.format ?? 0;
  if (format > FORMAT) {
    const sentence = `${PEOPLE_FILE} in ${root.path} was written by a newer Runnel (format ${format}). Update this one.`;
    throw new RunnelError("Version", "serve", sentence, { detail: { need: format } });
  }
  const checked = contents.safeParse(value);
  if (checked.success) return checked.data.people;
  const sentence = `${PEOPLE_FILE} in ${root.path} is damaged. Put it back from a backup, or remove it and set the console up anew.`;
  throw new RunnelError("Corrupt", "serve", sentence, { cause: checked.error });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Durable when it resolves. */
export function writePeople(root: DiskRoot, people: readonly Person[]): Promise<void> {
  return replaceWhole(root, PEOPLE_FILE, `${JSON.stringify({ format: FORMAT, people }, undefined, 1)}\n`);
}
