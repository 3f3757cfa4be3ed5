// The file of servers that know this device (F92), with the device's tokens or references to them, for its user alone.
/* oxlint-disable node/no-sync -- a small file, read at the start and written when a person logs in */
import { X509Certificate } from "node:crypto";
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { fromSystemError, RunnelError } from "@runnel/shared/base";
import { z } from "zod";
import { thisSystem } from "../../control/host/this-system.ts";

/** The newer one has references; a file without any is written as the older one, which an older Runnel reads. */
const FORMAT = 2;
const FORMAT_OF_TOKENS = 1;
const PRIVATE_MODE = 0o600;

const KnownServer = z.object({
  /** host:port */
  place: z.string(),
  /** Fingerprint of the server's key; undefined when an authority vouches for it. */
  fingerprint: z.string().optional(),
  /** Is undefined when a store has it (secrets.ts). */
  token: z.string().optional(),
  /** Reference to the token in its store. */
  secret: z.string().optional(),
  /** Name that the server has for this device. */
  device: z.string(),
  /** The proxy's URL, or "direct". */
  proxy: z.string().optional(),
  /** PEM: authorities besides those of the system. */
  authorities: z.string().optional(),
  volumes: z.array(z.object({ name: z.string(), isReadOnly: z.boolean() })),
});
export type KnownServer = z.output<typeof KnownServer>;

/** A token stands in the file, or is in a store. */
const WithToken = KnownServer.refine(({ token, secret }) => (token === undefined) !== (secret === undefined));
const Contents = z.object({
  format: z.union([z.literal(FORMAT), z.literal(FORMAT_OF_TOKENS)]),
  servers: z.array(WithToken),
});

/** @throws RunnelError Version for a newer format, Corrupt for anything else that is not as written. */
export function readServers(path: string): KnownServer[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const known = fromSystemError(error, "read the known servers");
    if (known.kind === "NotFound") return [];
    throw known;
  }
  const value = parsed(text);
  const format = z.object({ format: z.number() }).safeParse(value).data?.format ?? 0;
  if (format > FORMAT) {
    const sentence = `${path} was written by a newer Runnel (format ${format}). Update this one.`;
    throw new RunnelError("Version", "read the known servers", sentence, { detail: { need: format } });
  }
  const checked = Contents.safeParse(value);
  if (checked.success) return checked.data.servers;
  const sentence = `${path} is damaged. Put it back from a backup, or remove it and log in with new invites.`;
  throw new RunnelError("Corrupt", "read the known servers", sentence, { cause: checked.error });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** All or nothing, and durable when it returns: a token is given once. Only the agent writes. */
export function writeServers(path: string, servers: readonly KnownServer[]): void {
  const format = servers.some(({ secret }) => secret !== undefined) ? FORMAT : FORMAT_OF_TOKENS;
  const file = openSync(`${path}.new`, "w", PRIVATE_MODE);
  try {
    writeSync(file, `${JSON.stringify({ format, servers }, undefined, 1)}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  thisSystem.replace(`${path}.new`, path);
  thisSystem.syncFolder(dirname(path));
}

/** PEM certificates. @throws RunnelError with a sentence for a person. */
export function readAuthorities(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    const { kind } = fromSystemError(cause, "login");
    const why = kind === "NotFound" ? "does not exist" : "cannot be read";
    throw new RunnelError(kind, "login", `${path} ${why}. Name a file of certificates in PEM form.`, { cause });
  }
  if (!isCertificate(text)) throw new RunnelError("Invalid", "login", `${path} holds no certificate in PEM form.`);
  return text;
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== "";
  } catch {
    return false;
  }
}
