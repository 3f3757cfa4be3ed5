// Tickets: the server's word that a device may have a version, by which a colleague lets it in (W197). The key that
// signs them is the volume's, made anew each time that it is opened and told to those who announce.
import { type KeyObject, createPublicKey, createPrivateKey, randomBytes, sign, verify } from "node:crypto";
import { z } from "zod";
import { RunnelError } from "../../errors.ts";
import { LIMITS } from "../../limits.ts";
import type { VersionId } from "../../model/node.ts";
import { decodeCbor, encodeCbor } from "../cbor.ts";
import { keyDigest, versionId } from "../fields.ts";
import { count } from "../numbers.ts";

export interface Ticket {
  epoch: string;
  version: VersionId;
  /** Fingerprint of the key of the device that it is for. */
  key: Uint8Array;
  /** End of its time by the server's clock, milliseconds since 1970. */
  untilMs: number;
}

/** Distinguishes what is signed from anything else that a key of this kind may sign. */
const PURPOSE = Buffer.from("runnel ticket 1\0");
const SIGNATURE_BYTES = 64;
/** Encodings of a public and a private Ed25519 key (RFC 8410 §4, §7) before their 32 bytes. */
const KEY_PREFIX = Buffer.from("302a300506032b6570032100", "hex");
const SEED_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");
const KEY_BYTES = 32;

const TICKET = z.tuple([z.string().max(64), versionId, keyDigest, count]);

export class TicketKey {
  readonly #key: KeyObject;
  /** Raw Ed25519 public key: 32 bytes. */
  readonly publicKey: Uint8Array;

  /** `seed`: of the private key, 32 bytes (RFC 8032 §5.1.5); left out: at random. */
  constructor(seed: Uint8Array = randomBytes(KEY_BYTES)) {
    this.#key = createPrivateKey({ key: Buffer.concat([SEED_PREFIX, seed]), format: "der", type: "pkcs8" });
    const encoded = createPublicKey(this.#key).export({ type: "spki", format: "der" });
    this.publicKey = new Uint8Array(encoded.subarray(KEY_PREFIX.length));
  }

  sign({ epoch, version, key, untilMs }: Ticket): Uint8Array {
    // A plain copy: bytes of another kind would be another CBOR.
    const said = encodeCbor([epoch, [version.node, version.seq], new Uint8Array(key), untilMs]);
    return Buffer.concat([sign(null, Buffer.concat([PURPOSE, said]), this.#key), said]);
  }
}

/** Reads a ticket that the server's key has signed. @throws RunnelError Denied, Invalid. */
export function openTicket(ticket: Uint8Array, publicKey: Uint8Array): Ticket {
  const said = ticket.subarray(SIGNATURE_BYTES);
  const isSigned =
    ticket.length > SIGNATURE_BYTES &&
    ticket.length <= LIMITS.ticketBytes &&
    publicKey.length === KEY_BYTES &&
    verify(null, Buffer.concat([PURPOSE, said]), publicKeyOf(publicKey), ticket.subarray(0, SIGNATURE_BYTES));
  if (!isSigned) throw ticketDenied("The ticket is not of this volume's server.");
  const read = TICKET.safeParse(decodeCbor(said));
  if (!read.success) throw ticketDenied("The ticket has another form.");
  const [epoch, version, key, untilMs] = read.data;
  return { epoch, version, key, untilMs };
}

export function ticketDenied(sentence: string): RunnelError {
  return new RunnelError("Denied", "getChunks", sentence, { detail: { rule: "W197" } });
}

function publicKeyOf(raw: Uint8Array): KeyObject {
  return createPublicKey({ key: Buffer.concat([KEY_PREFIX, raw]), format: "der", type: "spki" });
}
