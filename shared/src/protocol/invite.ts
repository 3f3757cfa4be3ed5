// An invite as text (W70): where the server is, how its key is told from others, and a secret that works once.
import { RunnelError } from "../errors.ts";
import { addressOf, placeOf } from "../host/dial/server-address.ts";
import { isVolumeName } from "../model/names.ts";

export interface Invite {
  /** host:port */
  place: string;
  volume: string;
  /** Left out when an authority vouches for the server. */
  fingerprint?: string;
  secret: string;
}

const CHARACTERS_MAX = 1000;
const FRAGMENT = /^(?:([\w-]{43})\.)?([\w-]{22})$/;

export function formatInvite({ place, volume, fingerprint, secret }: Invite): string {
  const key = fingerprint === undefined ? "" : `${fingerprint}.`;
  return `runnel://${place}/${encodeURIComponent(volume)}#${key}${secret}`;
}

/** @throws RunnelError Invalid; what was typed is a secret and is not repeated. */
export function parseInvite(typed: string): Invite {
  const text = typed.trim();
  const [, rest] = /^runnel:(\/\/.*)$/s.exec(text) ?? [];
  if (text.length > CHARACTERS_MAX || rest === undefined || /[\p{Cc}\s]/u.test(text)) throw invalid();
  const url = URL.parse(`wss:${rest}`);
  const volume = decoded(url?.pathname.slice(1) ?? "");
  const [, fingerprint, secret] = FRAGMENT.exec(url?.hash.slice(1) ?? "") ?? [];
  const isBare = url?.username === "" && url.password === "" && url.search === "";
  if (url === null || url.hostname === "" || !isBare || secret === undefined || !isVolumeName(volume)) throw invalid();
  return { place: placeOf(addressOf(url.href)), volume, ...(fingerprint === undefined ? {} : { fingerprint }), secret };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

function invalid(): RunnelError {
  return new RunnelError(
    "Invalid",
    "read an invite",
    "That is not a whole invite. Copy all of it, from runnel:// to its last letter, and put it in quotes.",
  );
}
