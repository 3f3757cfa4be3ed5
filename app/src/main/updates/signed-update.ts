// Decides whether a version that is offered is the one that was signed: an update is what both the signed list and the
// feed's own file name, by the same digests. Pure.
import { RunnelError } from "@runnel/shared";
import { type Feed, isNewer } from "../../cli/updates/signed-feed.ts";
import { type FileFacts, OfferedVersion } from "./updater.ts";

const OPERATION = "update the app";

/** A version that may be downloaded. */
export interface SignedUpdate {
  version: string;
  /** Files that may come, as they were signed: of each processor. */
  files: readonly (FileFacts & { name: string })[];
}

/**
 * Compares what is offered with the list, which was believed.
 * @throws RunnelError Denied, Corrupt with a sentence when they differ
 */
export function signedUpdate(list: Feed, offered: unknown, current: string): SignedUpdate {
  const parsed = OfferedVersion.safeParse(offered);
  if (!parsed.success)
    throw refusal("Corrupt", "What the feed of the app says of its newest version is not understood");
  const { version, files } = parsed.data;
  if (version !== list.version)
    throw refusal("Denied", `The feed of the app offers ${shown(version)}, and what was signed is ${list.version}`);
  if (!isNewer(version, current)) throw refusal("Denied", `${version} is not newer than ${current}`);
  return {
    version,
    files: files.map(({ url, sha512, size }) => {
      const signed = list.packages.find(({ name }) => name === url);
      if (signed?.sha512 === undefined)
        throw refusal("Denied", `Nobody has signed ${shown(url)}, which the feed of the app offers as ${version}`);
      if (signed.sha512 !== sha512 || signed.sizeBytes !== size)
        throw refusal("Denied", `The feed of the app offers another ${url} than the one that was signed`);
      return { name: url, sizeBytes: size, sha512 };
    }),
  };
}

/** @throws RunnelError Denied when a file is none of those that were signed */
export function checkFile({ version, files }: SignedUpdate, { sizeBytes, sha512 }: FileFacts): void {
  if (files.some((file) => file.sha512 === sha512 && file.sizeBytes === sizeBytes)) return;
  throw refusal("Denied", `What was downloaded as ${version} is not what was signed`);
}

function refusal(kind: "Denied" | "Corrupt", what: string): RunnelError {
  return new RunnelError(kind, OPERATION, `${what}. It is not installed.`);
}

/** Words of somebody whom nobody knows, for a log. */
function shown(text: string): string {
  return JSON.stringify(text.slice(0, 80));
}
