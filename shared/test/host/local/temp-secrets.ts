// Secrets of local servers in a folder of their own.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LocalSecrets } from "../../../src/host/local/local-secrets.ts";

export interface TempSecrets {
  folder: string;
  /** A server's at each place. */
  secrets: LocalSecrets;
  /** Secrets for all places. */
  named: LocalSecrets;
  remove(): void;
}

export function tempSecrets(): TempSecrets {
  const folder = mkdtempSync(join(tmpdir(), "rnl-secrets-"));
  const named = LocalSecrets.ofUserOr(join(folder, "named"));
  named.keep({ address: "", port: 0 });
  return {
    folder,
    named,
    secrets: LocalSecrets.ofUser({ XDG_RUNTIME_DIR: folder }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
