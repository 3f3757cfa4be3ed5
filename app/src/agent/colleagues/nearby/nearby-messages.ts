// Messages by which devices of a link find each other: a service of DNS-SD (RFC 6763) that says a port and the
// fingerprint of a key, and no name of a volume, a path, a machine or a person.
import { z } from "zod";

const SERVICE = "_runnel._tcp.local";
const TTL_S = 120;
/** Characters of the fingerprint in a name: names are told apart by them, and nothing else. */
const LABEL_CHARACTERS = 16;
const RECORDS_MAX = 32;

export interface NearbyPlace {
  /** Fingerprint of a device's key, base64url. */
  key: string;
  port: number;
}

export type NearbyMessage =
  | { type: "query"; questions: { name: string; type: "PTR" }[] }
  | { type: "response"; answers: NearbyRecord[] };

type NearbyRecord =
  | { name: string; type: "PTR"; ttl: number; data: string }
  | { name: string; type: "SRV"; ttl: number; data: { port: number; target: string } }
  | { name: string; type: "TXT"; ttl: number; data: string };

export interface ReadNearby {
  /** It asks who is there. */
  asks: boolean;
  told: NearbyPlace[];
}

export function nearbyQuestion(): NearbyMessage {
  return { type: "query", questions: [{ name: SERVICE, type: "PTR" }] };
}

/** Says where a device listens; `isGone`: that it does no more. */
export function nearbyAnswer({ key, port }: NearbyPlace, isGone = false): NearbyMessage {
  const label = Buffer.from(key, "base64url").toString("hex").slice(0, LABEL_CHARACTERS);
  const name = `${label}.${SERVICE}`;
  const ttl = isGone ? 0 : TTL_S;
  return {
    type: "response",
    answers: [
      { name: SERVICE, type: "PTR", ttl, data: name },
      { name, type: "SRV", ttl, data: { port, target: `${label}.local` } },
      { name, type: "TXT", ttl, data: `key=${key}` },
    ],
  };
}

const MESSAGE = z.object({
  type: z.enum(["query", "response"]),
  questions: z.array(z.unknown()).optional(),
  answers: z.array(z.unknown()).optional(),
  additionals: z.array(z.unknown()).optional(),
});
const QUESTION = z.object({ name: z.string(), type: z.enum(["PTR", "ANY"]) });
const NAME = z.string().transform((name) => name.toLowerCase());
const SRV = z.object({
  name: NAME,
  type: z.literal("SRV"),
  ttl: z.number().positive(),
  data: z.object({ port: z.int().min(1).max(65_535) }),
});
const TXT = z.object({ name: NAME, type: z.literal("TXT"), ttl: z.number().positive(), data: z.unknown() });
const KEY = /^key=([\w-]{43})$/;

/** Reads what concerns colleagues of a message; of anything else nothing. */
export function readNearby(message: unknown): ReadNearby {
  const read: ReadNearby = { asks: false, told: [] };
  const parsed = MESSAGE.safeParse(message).data;
  if (parsed === undefined) return read;
  if (parsed.type === "query") {
    const questions = (parsed.questions ?? []).slice(0, RECORDS_MAX).map((each) => QUESTION.safeParse(each).data);
    read.asks = questions.some((question) => question?.name.toLowerCase() === SERVICE);
    return read;
  }
  const records = [...(parsed.answers ?? []), ...(parsed.additionals ?? [])].slice(0, RECORDS_MAX);
  const ports = new Map<string, number>();
  for (const record of records) {
    const { name = "", data } = SRV.safeParse(record).data ?? {};
    if (data !== undefined && name.endsWith(`.${SERVICE}`)) ports.set(name, data.port);
  }
  for (const record of records) {
    const { name = "", data } = TXT.safeParse(record).data ?? {};
    const [key, port] = [keyIn(data), ports.get(name)];
    if (key !== undefined && port !== undefined) read.told.push({ key, port });
  }
  return read;
}

function keyIn(data: unknown): string | undefined {
  for (const text of Array.isArray(data) ? data.slice(0, RECORDS_MAX) : [data]) {
    const [, key] = (text instanceof Uint8Array || typeof text === "string" ? KEY.exec(String(text)) : null) ?? [];
    if (key !== undefined) return key;
  }
  return undefined;
}
