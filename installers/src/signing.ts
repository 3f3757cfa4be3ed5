// Signatures of packages, by keys that whoever releases has. Without one nothing is signed, and nothing says so: setups
// and packages of Windows by osslsigncode, rpms by rpmsign, the list of digests by gpg. Debs are not signed one by one,
// since apt looks at no such signature, but by the index that names them (repository.ts). macOS has ../darwin/make.sh.
import { renameSync, rmSync } from "node:fs";
import { ensureDebian } from "../../scripts/tools.mjs";
import { runTool } from "./run.ts";
import type { Release } from "./tree.ts";

export interface Signers {
  /** Name of a key of gpg. */
  gpg: string | undefined;
  windows: WindowsSigner | undefined;
}

export interface WindowsSigner {
  /** Path of a certificate with its key (PKCS #12). */
  certificate: string;
  /** Path of a file that holds its password. */
  passwordFile: string | undefined;
  /** Address of an authority that says when (RFC 3161): with it a signature is good after its certificate has ended. */
  timestampUrl: string | undefined;
}

/** Reads from the environment who signs. @throws Error when something is named that nothing signs with */
export function signersOf(env: NodeJS.ProcessEnv): Signers {
  const {
    RUNNEL_GPG_KEY: gpg,
    RUNNEL_WINDOWS_CERT: certificate,
    RUNNEL_WINDOWS_PASSWORD: passwordFile,
    RUNNEL_TIMESTAMP_URL: timestampUrl,
  } = env;
  if (!certificate && (passwordFile || timestampUrl))
    throw new Error("RUNNEL_WINDOWS_PASSWORD and RUNNEL_TIMESTAMP_URL are of a RUNNEL_WINDOWS_CERT: name that, too.");
  return {
    gpg: gpg || undefined,
    windows: certificate
      ? { certificate, passwordFile: passwordFile || undefined, timestampUrl: timestampUrl || undefined }
      : undefined,
  };
}

/** Signs what carries a signature of its own, where it lies. */
export function signPackage(path: string, { gpg, windows }: Signers, release: Release): void {
  if (/\.(exe|msi)$/.test(path) && windows !== undefined) signForWindows(path, windows, release);
  if (path.endsWith(".rpm") && gpg !== undefined) {
    // It looks for gpg at a place of its own.
    const program = runTool("sh", ["-c", "command -v gpg"]).trim();
    const macros = { _gpg_name: gpg, _gpg_digest_algo: "sha256", __gpg: program };
    const defined = Object.entries(macros).flatMap(([name, value]) => ["--define", `${name} ${value}`]);
    runTool("rpmsign", [...defined, "--addsign", path]);
  }
}

function signForWindows(path: string, signer: WindowsSigner, { epochSeconds }: Release): void {
  ensureDebian("osslsigncode", ["osslsigncode"]);
  const { certificate, passwordFile, timestampUrl } = signer;
  const signed = `${path}.signed`;
  rmSync(signed, { force: true });
  const password = passwordFile === undefined ? ["-pass", ""] : ["-readpass", passwordFile];
  // Without an authority the time is that of the commit: the same bytes each time.
  const time = timestampUrl === undefined ? ["-st", String(epochSeconds)] : ["-ts", timestampUrl];
  const about = ["-n", "Runnel", "-h", "sha256"];
  runTool("osslsigncode", [
    "sign",
    "-pkcs12",
    certificate,
    ...password,
    ...about,
    ...time,
    "-in",
    path,
    "-out",
    signed,
  ]);
  renameSync(signed, path);
}

/** Writes FILE.asc beside a file, or removes an old one where nobody signs. */
export function signBeside(path: string, gpg: string | undefined): void {
  rmSync(`${path}.asc`, { force: true });
  if (gpg !== undefined) runTool("gpg", ["--batch", "--yes", "--local-user", gpg, "--armor", "--detach-sign", path]);
}
