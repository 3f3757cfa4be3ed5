// Tells a person where the tokens lie by which servers know this device, and whether they can be had.
import { fromSystemError } from "@runnel/shared/base";
import type { Checked } from "../control/host/checked.ts";
import type { Secrets } from "../secrets/secrets.ts";
import type { KnownServers } from "./known-servers.ts";

const ABOUT = "Logins";

/** @returns nothing for a device that no server knows. */
export async function checkLogins(servers: KnownServers, secrets: Secrets, file: string): Promise<Checked[]> {
  try {
    const { inFile, inStores } = await servers.tokenPlaces();
    const checks = inStores.map(({ place, count, closed }): Checked => {
      const sentence = `${tokens(count)} in ${place}`;
      if (closed === undefined) return { about: ABOUT, isFine: true, sentence: `${sentence}.`, next: null };
      const next = "Until then drives of these servers stay offline; the logins are not lost.";
      return { about: ABOUT, isFine: false, sentence: `${sentence}, and cannot be had. ${closed}`, next };
    });
    if (inFile === 0) return checks;
    const sentence = `${tokens(inFile)} in ${file}, which only you can read: ${await whyInFile(secrets)}`;
    return [...checks, { about: ABOUT, isFine: true, sentence, next: null }];
  } catch (error) {
    return [{ about: ABOUT, isFine: false, sentence: fromSystemError(error, "read the logins").message, next: null }];
  }
}

function tokens(count: number): string {
  return count === 1 ? "The token of one server lies" : `The tokens of ${count} servers lie`;
}

async function whyInFile(secrets: Secrets): Promise<string> {
  if (secrets.bestPlace === undefined) return "no keyring is used here.";
  try {
    await secrets.check();
    return `they move to ${secrets.bestPlace} when a drive is mapped after the agent's next start.`;
  } catch (error) {
    return `${fromSystemError(error, "look for a keyring").message}`;
  }
}
