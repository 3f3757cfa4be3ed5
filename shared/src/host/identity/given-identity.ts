// A key and certificates that an administrator brings along: checked before anything listens with them. Links are
// followed, as where certificates are renewed by moving one.
import { X509Certificate, createPrivateKey } from "node:crypto";
import { readFile } from "node:fs/promises";
import { RunnelError, fromSystemError } from "../../errors.ts";
import type { TlsIdentity } from "./tls-identity.ts";

/** @throws RunnelError with a sentence for a person. */
export async function givenIdentity(certificatePath: string, keyPath: string): Promise<TlsIdentity> {
  const [certificate, key] = await Promise.all([readGiven(certificatePath), readGiven(keyPath)]);
  const first = parsed(certificatePath, "certificate", () => new X509Certificate(certificate));
  const secret = parsed(keyPath, "private key without a passphrase", () => createPrivateKey(key));
  if (!first.checkPrivateKey(secret))
    throw invalid(
      `${keyPath} is not the key of the first certificate in ${certificatePath}. Name the two that go together.`,
    );
  return { key, certificate };
}

/** Reads the certificates of authorities. @throws RunnelError with a sentence for a person. */
export async function givenAuthorities(path: string): Promise<string> {
  const certificates = await readGiven(path);
  // Beside them there may be words for people.
  const all = certificates.match(/-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/g) ?? [""];
  for (const one of all) parsed(path, "certificate", () => new X509Certificate(one));
  return certificates;
}

/** It is signed by its own key: no authority vouches for it, so invites say the key's fingerprint. */
export function vouchesForItself({ certificate }: TlsIdentity): boolean {
  const first = new X509Certificate(certificate);
  return first.verify(first.publicKey);
}

async function readGiven(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    const { kind } = fromSystemError(cause, "read a file");
    const why = kind === "NotFound" ? "does not exist" : "cannot be read by this user";
    throw new RunnelError(kind, "read a file", `${path} ${why}. Name a file in PEM form.`, { cause });
  }
}

function parsed<T>(path: string, what: string, parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    throw invalid(`${path} holds no ${what} in PEM form.`, cause);
  }
}

function invalid(sentence: string, cause?: unknown): RunnelError {
  return new RunnelError("Invalid", "read a file", sentence, { cause });
}
