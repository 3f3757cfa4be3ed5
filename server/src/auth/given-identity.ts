// A key and a certificate that an administrator brings along: checked before anything listens with them.
import { X509Certificate, createPrivateKey } from "node:crypto";
import type { TlsIdentity } from "@runnel/shared";
import { RunnelError, fromSystemError } from "@runnel/shared";
import { readText } from "../host/read-text.ts";

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

/** It is signed by its own key: no authority vouches for it, so invites say the key's fingerprint. */
export function vouchesForItself({ certificate }: TlsIdentity): boolean {
  const first = new X509Certificate(certificate);
  return first.verify(first.publicKey);
}

async function readGiven(path: string): Promise<string> {
  try {
    return await readText(path);
  } catch (cause) {
    const { kind } = fromSystemError(cause, "serve");
    const why = kind === "NotFound" ? "does not exist" : "cannot be read by this user";
    throw new RunnelError(kind, "serve", `${path} ${why}. Name a file in PEM form.`, { cause });
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
  return new RunnelError("Invalid", "serve", sentence, { cause });
}
