// Proves to two programs of one user that they are, when they meet over plain ws (W165): each knows the secret of the
// server's address, says a nonce, and an HMAC of both nonces. A program that does not know the secret learns nothing
// from what is said.
// oxlint-disable-next-line no-restricted-imports -- of one secret
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

/** Header of the client's request: its nonce. */
export const NONCE_HEADER = "Runnel-Nonce";
/** Header of the server's answer: NONCE.PROOF */
export const PROOF_HEADER = "Runnel-Proof";

const NONCE_BYTES = 32;
/** 32 bytes of base64url. */
const FORM = /^[\w-]{43}$/;

/** The client's side. */
export class Meeting {
  readonly nonce = newNonce();
  private readonly secrets: readonly string[];

  /** `secrets`: one of which a server of this user has. */
  constructor(secrets: readonly string[]) {
    this.secrets = secrets;
  }

  /** The client's own proof, to what the server has said; undefined when that proves nothing. */
  answer(said: string | string[] | undefined): string | undefined {
    const [serverNonce = "", proof = "", ...more] = String(said).split(".");
    if (![serverNonce, proof].every((part) => FORM.test(part)) || more.length > 0) return undefined;
    const secret = this.secrets.find((each) => isProof(proof, proofOf(each, "server", this.nonce, serverNonce)));
    return secret === undefined ? undefined : proofOf(secret, "client", this.nonce, serverNonce);
  }
}

export interface Met {
  /** The value of the answer's header; undefined for a client that has named no nonce. */
  said: string | undefined;
  /** Proof that the client has to say. */
  ownerProof: string;
}

/** The server's side. */
export function meet(secret: string, clientNonce: unknown): Met {
  // The expected proof is random then: no client can say it.
  if (typeof clientNonce !== "string" || !FORM.test(clientNonce)) return { said: undefined, ownerProof: newNonce() };
  const nonce = newNonce();
  return {
    said: `${nonce}.${proofOf(secret, "server", clientNonce, nonce)}`,
    ownerProof: proofOf(secret, "client", clientNonce, nonce),
  };
}

/** Compares in a time that does not depend on how much of the proof is right. */
export function isProof(said: string, right: string): boolean {
  return said.length === right.length && timingSafeEqual(Buffer.from(said, "latin1"), Buffer.from(right, "latin1"));
}

function newNonce(): string {
  return randomBytes(NONCE_BYTES).toString("base64url");
}

/** HMAC-SHA256 (RFC 2104) over who says it and both nonces: of use for this connection only. */
function proofOf(secret: string, by: "client" | "server", clientNonce: string, serverNonce: string): string {
  return createHmac("sha256", secret).update(`runnel ${by} ${clientNonce} ${serverNonce}`).digest("base64url");
}
