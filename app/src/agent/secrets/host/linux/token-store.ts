// Linux: the keyring of the user's session (GNOME's, KDE's, KeePassXC), over the Secret Service API 0.2 of
// freedesktop.org. Secrets cross the session's bus as they are: on it are programs of this user only. Nothing is asked
// of a person: a keyring that is locked, or that does not exist yet, counts as unreachable.
import type { Clock } from "@runnel/shared/base";
import { RealClock, RunnelError } from "@runnel/shared/base";
import type { TokenStore } from "../../token-store.ts";
import { SessionBus } from "./session-bus.ts";

const SERVICE = "org.freedesktop.secrets";
const ROOT = "/org/freedesktop/secrets";
const NAMES = "org.freedesktop.Secret";
/** Path that stands for none. */
const NONE = "/";
const APPLICATION = "io.github.runnel";
const LABEL = "Runnel: a login of this device";

type Secret = [session: string, parameters: Buffer, value: Buffer, contentType: string];

/** A keyring that is open, for one operation. */
interface Opened {
  bus: SessionBus;
  collection: string;
}

export class SecretService implements TokenStore {
  readonly name = "secret-service";
  readonly place = "the keyring of your session";
  readonly #address: string;
  readonly #clock: Clock;

  /** `address`: of the session's bus. */
  constructor(address: string, clock: Clock = new RealClock()) {
    this.#address = address;
    this.#clock = clock;
  }

  check(): Promise<void> {
    return this.#open(() => Promise.resolve());
  }

  get(id: string): Promise<string | undefined> {
    return this.#open(async (opened) => {
      const [item] = await itemsOf(opened, id);
      if (item === undefined) return undefined;
      const session = await sessionOf(opened.bus);
      const [secret] = (await ask(opened.bus, item, `${NAMES}.Item`, "GetSecret", "o", [session])) as [Secret];
      return secret[2].toString();
    });
  }

  put(id: string, secret: string): Promise<void> {
    return this.#open(async ({ bus, collection }) => {
      const session = await sessionOf(bus);
      const properties = {
        [`${NAMES}.Item.Label`]: bus.variant("s", LABEL),
        [`${NAMES}.Item.Attributes`]: bus.variant("a{ss}", attributesOf(id)),
      };
      const value: Secret = [session, Buffer.alloc(0), Buffer.from(secret), "text/plain"];
      const answer = await ask(bus, collection, `${NAMES}.Collection`, "CreateItem", "a{sv}(oayays)b", [
        properties,
        value,
        true,
      ]);
      if (answer[1] !== NONE) throw unreachable(LOCKED);
    });
  }

  remove(id: string): Promise<void> {
    return this.#open(async (opened) => {
      for (const item of await itemsOf(opened, id)) {
        const [prompt] = await ask(opened.bus, item, `${NAMES}.Item`, "Delete", "", []);
        if (prompt !== NONE) throw unreachable(LOCKED);
      }
    });
  }

  async #open<T>(use: (opened: Opened) => Promise<T>): Promise<T> {
    let bus: SessionBus | undefined;
    try {
      bus = await SessionBus.connect(this.#address, this.#clock);
      const [collection] = await ask(bus, ROOT, `${NAMES}.Service`, "ReadAlias", "s", ["default"]);
      if (typeof collection !== "string" || collection === NONE) throw unreachable(MISSING);
      const [isLocked] = await ask(bus, collection, "org.freedesktop.DBus.Properties", "Get", "ss", [
        `${NAMES}.Collection`,
        "Locked",
      ]);
      if ((isLocked as { value: unknown }).value !== false) throw unreachable(LOCKED);
      return await use({ bus, collection });
    } catch (error) {
      if (error instanceof RunnelError) throw error;
      throw unreachable(error instanceof Error ? `The keyring does not answer: ${error.message}` : MISSING, error);
    } finally {
      bus?.close();
    }
  }
}

const LOCKED = "The keyring of your session is locked. Unlock it: log in at the screen, or open it by its program.";
const MISSING = "This session has no keyring.";

function attributesOf(id: string): Record<string, string> {
  return { application: APPLICATION, id };
}

async function sessionOf(bus: SessionBus): Promise<string> {
  const [, session] = await ask(bus, ROOT, `${NAMES}.Service`, "OpenSession", "sv", ["plain", bus.variant("s", "")]);
  return session as string;
}

async function itemsOf({ bus, collection }: Opened, id: string): Promise<string[]> {
  const [items] = await ask(bus, collection, `${NAMES}.Collection`, "SearchItems", "a{ss}", [attributesOf(id)]);
  return items as string[];
}

function ask(
  bus: SessionBus,
  path: string,
  iface: string,
  member: string,
  signature: string,
  body: unknown[],
): Promise<unknown[]> {
  return bus.call({ destination: SERVICE, path, interface: iface, member, signature, body });
}

function unreachable(sentence: string, cause?: unknown): RunnelError {
  return new RunnelError("Unreachable", "use a secret", sentence, { cause });
}
