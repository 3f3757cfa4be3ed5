// A key and certificate of this end's own: made once, the same from then on, since others know the key by its
// fingerprint: invites that of a server (F90), tickets that of a device (W197). It vouches for itself.
import { KeyObject, X509Certificate, createPrivateKey, randomBytes, webcrypto } from "node:crypto";
import { RunnelError } from "../../errors.ts";
import type { DiskRoot } from "../disk.ts";
import { readWhole, replaceWhole } from "../whole-file.ts";
import type { TlsIdentity } from "./tls-identity.ts";

const KEY = "key.pem";
const CERTIFICATE = "certificate.pem";
const ALGORITHM = { name: "ECDSA", namedCurve: "P-256" } as const;
const SIGNATURE = { name: "ECDSA", hash: "SHA-256" } as const;
const SERIAL_BYTES = 15;
/** RFC 5280 §4.1.2.5: no end that anyone could tell. What counts is the key. */
const NO_END = new Date(Date.UTC(9999, 11, 31, 23, 59, 59));
const BEGINNING = new Date(Date.UTC(2000, 0, 1));

/** There is a key already: somebody may have been invited to it. */
export async function hasOwnIdentity(root: DiskRoot): Promise<boolean> {
  return (await readWhole(root, KEY)) !== undefined;
}

/** An end that has a key. */
export interface IdentityOwner {
  hostname: string;
  /** Name in the certificate, for whoever looks at it. */
  name: string;
  /** Told after "without them" when the key is damaged: a new one would be another device, or lock out who knows it. */
  loss: string;
}

/** @throws RunnelError Corrupt when what is there is no key or certificate. */
export async function ownIdentity(root: DiskRoot, owner: IdentityOwner): Promise<TlsIdentity> {
  let key = await readWhole(root, KEY);
  if (key === undefined) {
    key = await newKey();
    await replaceWhole(root, KEY, key);
  }
  const kept = await readWhole(root, CERTIFICATE);
  if (kept !== undefined && isOf(kept, key, root, owner)) return { key, certificate: kept };
  const certificate = await certify(key, owner);
  await replaceWhole(root, CERTIFICATE, certificate);
  return { key, certificate };
}

/** The key is the identity: a certificate of another one is made anew. */
function isOf(certificate: string, key: string, { path }: DiskRoot, { loss }: IdentityOwner): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch (cause) {
    const sentence = `${KEY} or ${CERTIFICATE} in ${path} is damaged. Put them back from a backup; without them ${loss}.`;
    throw new RunnelError("Corrupt", "read a key", sentence, { cause });
  }
}

async function newKey(): Promise<string> {
  const { privateKey } = (await webcrypto.subtle.generateKey(ALGORITHM, true, [
    "sign",
    "verify",
  ])) as webcrypto.CryptoKeyPair;
  return KeyObject.from(privateKey).export({ type: "pkcs8", format: "pem" }).toString();
}

async function certify(keyPem: string, { hostname, name }: IdentityOwner): Promise<string> {
  // Needed once in the life of a key, so loaded then; the library asks for the polyfill first.
  await import("reflect-metadata");
  const { SubjectAlternativeNameExtension, X509CertificateGenerator } = await import("@peculiar/x509");
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: `01${randomBytes(SERIAL_BYTES).toString("hex")}`,
    name: `CN=${name}`,
    notBefore: BEGINNING,
    notAfter: NO_END,
    // A page's types know fewer uses of a key.
    keys: (await keyPair(keyPem)) as Parameters<typeof X509CertificateGenerator.createSelfSigned>[0]["keys"],
    signingAlgorithm: SIGNATURE,
    extensions: [
      new SubjectAlternativeNameExtension([
        { type: "dns", value: hostname },
        { type: "dns", value: "localhost" },
      ]),
    ],
  });
  return `${certificate.toString("pem")}\n`;
}

async function keyPair(pem: string): Promise<webcrypto.CryptoKeyPair> {
  const key = createPrivateKey(pem);
  const { d: _secret, ...open } = key.export({ format: "jwk" });
  const publicKey = await webcrypto.subtle.importKey("jwk", { ...open, key_ops: ["verify"] }, ALGORITHM, true, [
    "verify",
  ]);
  const pkcs8 = key.export({ type: "pkcs8", format: "der" });
  const privateKey = await webcrypto.subtle.importKey("pkcs8", pkcs8, ALGORITHM, true, ["sign"]);
  return { privateKey, publicKey };
}
