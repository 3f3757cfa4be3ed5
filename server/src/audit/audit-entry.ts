// Entries of the audit log: who did what to what, and what came of it. Also the line of JSON that each is on disk
// [F181]. Nothing that lets anybody in is in them (without-secrets.ts).
import type { ErrorKind } from "@runnel/shared";
import { ERROR_KINDS } from "@runnel/shared/base";
import { z } from "zod";
import { withoutSecrets } from "./without-secrets.ts";

/** Acts that are recorded; a list that only grows. */
export const AUDIT_ACTS = [
  "serverStart",
  "serverStop",
  "setting",
  "volumeAdd",
  "volumeMove",
  "volumeRemove",
  "volumeAdopt",
  "volumeMake",
  "volumeStop",
  "volumeResume",
  "disconnect",
  "login",
  "join",
  "attach",
  "request",
  "cutOff",
  "invite",
  "withdraw",
  "right",
  "revoke",
  "invites",
  "devices",
  "openers",
  "browse",
  "offered",
  "live",
  "audit",
  "administer",
  "lost",
  "console",
  "setUp",
  "signIn",
  "signOut",
  "setPassword",
  "sessions",
  "endSession",
  "people",
  "personAdd",
  "personChange",
  "personRemove",
  "settings",
  "enter",
  "download",
] as const;
export type AuditAct = (typeof AUDIT_ACTS)[number];

/**
 * Kinds of who acts: a device that the server knows, a program of the server's own user, an administrator (whoever asks
 * over the administrator's socket, or signed in to the console as one), a connection of which it is not known whose it
 * is, the server itself, somebody else who signed in to the console. A list that only grows.
 */
export const ACTOR_KINDS = ["device", "owner", "admin", "unauthenticated", "server", "person"] as const;

/** Outcomes: done; a kind of error; unknown, since the server ended before it could say. */
export const AUDIT_RESULTS = ["done", "unknown", ...ERROR_KINDS] as const;
export type AuditResult = "done" | "unknown" | ErrorKind;

export const actor = z.object({
  kind: z.enum(ACTOR_KINDS),
  /** A device's. */
  id: z.string(),
  /** Name of the device, or of the administrator's user as their command says it. */
  name: z.string(),
  /** Whom the device's invite was for. */
  person: z.string(),
  address: z.string(),
});
export type Actor = z.output<typeof actor>;

export const auditEntry = z.object({
  /** Number of the entry: later ones have greater ones, whatever the clock says. */
  n: z.int().min(1),
  atMs: z.number(),
  who: actor,
  act: z.enum(AUDIT_ACTS),
  /** Name of the volume, device, invite or setting that it was done to. */
  object: z.string(),
  result: z.enum(AUDIT_RESULTS),
  /** Times that this happened, which the entry stands for. */
  count: z.int().min(1),
  detail: z.string(),
});
export type AuditEntry = z.output<typeof auditEntry>;

/** An entry that has no number yet. */
export interface NewEntry {
  who: Actor;
  act: AuditAct;
  object?: string;
  result: AuditResult;
  count?: number;
  detail?: string;
}

/** A step of an act of several: `begun` before it is done, `of` with what came of the one that was begun as n. */
export type Step = { is: "begun" } | { is: "outcome"; of: number };

/** Returns somebody of whom only the address is known. */
export function unauthenticated(address: string): Actor {
  return { kind: "unauthenticated", id: "", name: "", person: "", address };
}

export const SERVER: Actor = { kind: "server", id: "", name: "", person: "", address: "" };

const BEGUN = "begun";
const TEXT_MAX = 255;
const DETAIL_MAX = 600;
/** Characters that take up to six bytes each in JSON; a line is shorter than a block that is read at once. */
export const LINE_BYTES_MAX = 32 * 1024;

const line = z.object({
  n: auditEntry.shape.n,
  ms: z.number(),
  who: z.enum(ACTOR_KINDS),
  id: z.string().default(""),
  name: z.string().default(""),
  person: z.string().default(""),
  address: z.string().default(""),
  act: z.enum(AUDIT_ACTS),
  object: z.string().default(""),
  result: z.enum([BEGUN, ...AUDIT_RESULTS]),
  count: z.int().min(1).default(1),
  of: z.int().min(1).optional(),
  detail: z.string().default(""),
});

/** Cuts every text to a length that a line has room for, and takes out what may be a secret. */
export function cleaned(entry: NewEntry): Required<NewEntry> {
  const { who, act, object = "", result, count = 1, detail = "" } = entry;
  const [id, name, person, address] = [who.id, who.name, who.person, who.address].map((text) => short(text, TEXT_MAX));
  return {
    who: { kind: who.kind, id: id ?? "", name: name ?? "", person: person ?? "", address: address ?? "" },
    act,
    object: short(object, TEXT_MAX),
    result,
    count,
    detail: short(detail, DETAIL_MAX),
  };
}

function short(text: string, most: number): string {
  const clean = withoutSecrets(text);
  return clean.length <= most ? clean : `${clean.slice(0, most - 1)}…`;
}

/** Returns the line with its end. Empty fields are left out, and so is a count of 1. */
export function lineOf(n: number, ms: number, entry: Required<NewEntry>, step?: Step): string {
  const { who, act, object, result, count, detail } = entry;
  const { kind, ...texts } = who;
  const fields = {
    n,
    ms,
    who: kind,
    ...filled(texts),
    act,
    ...filled({ object }),
    result: step?.is === "begun" ? BEGUN : result,
    ...(count === 1 ? {} : { count }),
    ...(step?.is === "outcome" ? { of: step.of } : {}),
    ...filled({ detail }),
  };
  return `${JSON.stringify(fields)}\n`;
}

function filled(texts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ""));
}

/** An entry, and which step of an act it is. */
export interface ReadLine {
  entry: AuditEntry;
  step: Step | undefined;
}

/** Returns undefined for what is no line of this log. */
export function parseLine(text: string): ReadLine | undefined {
  const fields = line.safeParse(parsed(text)).data;
  if (fields === undefined) return undefined;
  const { n, ms, who, id, name, person, address, act, object, result, count, of, detail } = fields;
  const entry = { n, atMs: ms, who: { kind: who, id, name, person, address }, act, object, count, detail };
  if (result === BEGUN) return { entry: { ...entry, result: "unknown" }, step: { is: "begun" } };
  return { entry: { ...entry, result }, step: of === undefined ? undefined : { is: "outcome", of } };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Begins every line, so that number and time are had without parsing it. */
const HEAD = /^\{"n":(\d{1,16}),"ms":(-?\d{1,16}),/;

export function headOf(text: string): { n: number; ms: number } | undefined {
  const [, n, ms] = HEAD.exec(text) ?? [];
  return n === undefined ? undefined : { n: Number(n), ms: Number(ms) };
}
