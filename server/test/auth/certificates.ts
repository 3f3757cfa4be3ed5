// Keys, certificates and authorities for tests, as an administrator would bring them.
import { KeyObject, randomBytes, webcrypto } from "node:crypto";
import type { X509Certificate } from "@peculiar/x509";
import type { TlsIdentity } from "@runnel/shared";

// The library asks for the polyfill first.
await import("reflect-metadata");
const { BasicConstraintsExtension, SubjectAlternativeNameExtension, X509CertificateGenerator } =
  await import("@peculiar/x509");

const KEYS = { name: "ECDSA", namedCurve: "P-256" } as const;
const SIGNATURE = { name: "ECDSA", hash: "SHA-256" } as const;
const DAY_MS = 24 * 3_600_000;

export interface Authority {
  certificate: X509Certificate;
  keys: webcrypto.CryptoKeyPair;
  pem: string;
}

export async function newAuthority(name = "CN=Test authority"): Promise<Authority> {
  const keys = await newKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    name,
    ...days(-1, 100),
    keys,
    signingAlgorithm: SIGNATURE,
    extensions: [new BasicConstraintsExtension(true, undefined, true)],
  });
  return { certificate, keys, pem: certificate.toString("pem") };
}

/** `from` and `to` in days from now. */
export async function signedBy(
  { certificate, keys }: Authority,
  names: { dns?: string[]; ip?: string[] },
  from = -1,
  to = 10,
): Promise<TlsIdentity> {
  const own = await newKeys();
  const alternatives = [
    ...(names.dns ?? []).map((value) => ({ type: "dns", value }) as const),
    ...(names.ip ?? []).map((value) => ({ type: "ip", value }) as const),
  ];
  const made = await X509CertificateGenerator.create({
    serialNumber: serial(),
    subject: "CN=A server",
    issuer: certificate.subject,
    ...days(from, to),
    publicKey: own.publicKey,
    signingKey: keys.privateKey,
    signingAlgorithm: SIGNATURE,
    extensions: [new SubjectAlternativeNameExtension(alternatives)],
  });
  return { key: keyPem(own), certificate: made.toString("pem") };
}

export function keyPem({ privateKey }: webcrypto.CryptoKeyPair): string {
  return KeyObject.from(privateKey).export({ type: "pkcs8", format: "pem" }).toString();
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(KEYS, true, ["sign", "verify"]) as Promise<webcrypto.CryptoKeyPair>;
}

function days(from: number, to: number): { notBefore: Date; notAfter: Date } {
  return { notBefore: new Date(Date.now() + from * DAY_MS), notAfter: new Date(Date.now() + to * DAY_MS) };
}

function serial(): string {
  return `01${randomBytes(8).toString("hex")}`;
}
