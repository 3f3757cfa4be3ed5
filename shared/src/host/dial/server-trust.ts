// Trust in a server: a client knows that it is the one meant by the fingerprint of its key, or by an authority's
// signature (W71).
import { type X509Certificate, createHash } from "node:crypto";
import { getCACertificates } from "node:tls";
import { RunnelError } from "../../errors.ts";
import type { TlsIdentity } from "../identity/tls-identity.ts";

export interface ServerTrust {
  /** Fingerprint of the server's key (W71). With it no authority is asked. */
  fingerprint?: string | undefined;
  /** PEM: authorities besides those of the system. */
  authorities?: string | undefined;
  /** The proxy's URL, or "direct"; left out: what the environment says. */
  proxy?: string | undefined;
  /** Key and certificate that this end shows where it is asked for them. */
  own?: TlsIdentity | undefined;
}

/** SHA-256 of the public key (SubjectPublicKeyInfo), base64url. */
export function fingerprintOf({ publicKey }: X509Certificate): string {
  return createHash("sha256")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest("base64url");
}

let known: string[] | undefined;

/** Returns the authorities that Node brings, NODE_EXTRA_CA_CERTS names, and this system trusts. */
export function systemAuthorities(): string[] {
  known ??= [...new Set([...getCACertificates("default"), ...getCACertificates("system")])];
  return known;
}

/** @throws RunnelError Denied when the key is another. */
export function checkFingerprint(place: string, certificate: X509Certificate | undefined, fingerprint: string): void {
  if (certificate !== undefined && fingerprintOf(certificate) === fingerprint) return;
  const sentence =
    `Someone else answers at ${place}: its key is not the one in your invite. ` +
    "If the server was set up anew, ask for a new invite; else do not go on from this network.";
  throw new RunnelError("Denied", "dial", sentence);
}

/** OpenSSL's words for a certificate that nobody known has signed. */
const UNKNOWN_AUTHORITY = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
]);

/** Explains a failed TLS handshake to a person. @returns undefined when it says nothing about trust. */
export function trustError(place: string, cause: Error): RunnelError | undefined {
  const code = String((cause as { code?: unknown }).code);
  const denied = (sentence: string): RunnelError => new RunnelError("Denied", "dial", sentence, { cause });
  if (UNKNOWN_AUTHORITY.has(code)) {
    return denied(
      `No authority that this machine knows has signed the certificate of ${place}. ` +
        "Log in with an invite (runnel login), or name your company's authority with --ca there.",
    );
  }
  if (code === "CERT_HAS_EXPIRED" || code === "CERT_NOT_YET_VALID") {
    return denied(`The certificate of ${place} is not valid at this time. Ask whoever runs the server to renew it.`);
  }
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    return denied(`The certificate of ${place} is for another name. Use the name that the server goes by.`);
  }
  if (/^(ERR_SSL_|EPROTO)/.test(code)) {
    const sentence = `What answers at ${place} does not speak TLS 1.3. Check the port, and that the server serves wss.`;
    return new RunnelError("Unreachable", "dial", sentence, { cause });
  }
  return undefined;
}
