// The stores of this system, and the one that secrets go to here.
import { join } from "node:path";
import { Secrets } from "../secrets.ts";
import type { TokenStore } from "../token-store.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** With RUNNEL_KEYRING=off secrets stay in files, and those that a store has are brought back. */
const SETTING = "RUNNEL_KEYRING";
/** Folder of the agent's home with the sealed ones. */
const FOLDER = "secrets";

const here = new Map<string, Secrets>();

/** Secrets of the agent with this home, the same for all that ask in this process. */
export async function secretsHere(home: string, environment: Environment = process.env): Promise<Secrets> {
  const known = here.get(home);
  if (known !== undefined) return known;
  const store = await storeOf(process.platform, join(home, FOLDER), environment);
  const made = new Secrets({
    stores: store === undefined ? [] : [store],
    best: environment[SETTING] === "off" ? undefined : store,
  });
  const other = here.get(home);
  if (other !== undefined) return other;
  here.set(home, made);
  return made;
}

/** @returns undefined where the system has none. */
async function storeOf(
  platform: NodeJS.Platform,
  folder: string,
  environment: Environment,
): Promise<TokenStore | undefined> {
  if (platform === "win32") return (await import("./windows/token-store.ts")).windowsTokenStore(folder);
  if (platform === "darwin") return new (await import("./darwin/token-store.ts")).Keychain();
  const { sessionBusAddress } = await import("./linux/bus-address.ts");
  const address = sessionBusAddress(environment);
  if (address === undefined) return undefined;
  return new (await import("./linux/token-store.ts")).SecretService(address);
}
