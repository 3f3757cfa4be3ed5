// The ways into the console over TLS: a name with its password, and the token that the server prints until somebody has
// set the console up. What they give is a cookie, which pages cannot read and other sites' pages are not sent with.
import { randomBytes, timingSafeEqual } from "node:crypto";
import { RunnelError } from "@runnel/shared";
import { addressOf, jsonOf, type PageContext, type PageRoutes } from "@runnel/shared/page";
import { z } from "zod";
import { unauthenticated } from "../audit/audit-entry.ts";
import type { Person } from "../auth/people-file.ts";
import { CONSOLE_LIMITS } from "./console-limits.ts";
import { type ConsoleDeps, actorOf } from "./console-verb.ts";
import { newPassword, personName, saidPassword } from "./verbs/schemas.ts";

/** The prefix binds it to this very host, to TLS and to all paths (RFC 6265bis §4.1.3.2). */
export const COOKIE = "__Host-runnel";
const COOKIE_ATTRIBUTES = "Path=/; Secure; HttpOnly; SameSite=Strict";
const TOKEN_BYTES = 32;

const SignIn = z.strictObject({ name: z.string().max(1024), password: saidPassword });
const SetUp = z.strictObject({ token: z.string().max(256), name: z.string().max(1024), password: saidPassword });

export class SignInRoutes {
  readonly #deps: ConsoleDeps;
  /** Good until there is an admin, and in this process only. Nobody guesses 256 bits, so wrong ones are not counted. */
  readonly #setUpToken = randomBytes(TOKEN_BYTES);

  constructor(deps: ConsoleDeps) {
    this.#deps = deps;
  }

  /** Returns undefined when the console is set up. */
  get setUpToken(): string | undefined {
    return this.#deps.people.hasAdmin ? undefined : this.#setUpToken.toString("base64url");
  }

  addTo(app: PageRoutes): void {
    app.post("/sign-in", async (context) => {
      const { name, password } = await this.#asked(context, "signIn", SignIn);
      return this.#answer(context, await this.#signIn(name, password, addressOf(context)));
    });
    app.post("/set-up", async (context) => {
      const asked = await this.#asked(context, "setUp", SetUp);
      return this.#answer(context, await this.#setUp(asked, addressOf(context)));
    });
  }

  /** @throws RunnelError Invalid, TooLarge, which are noted. */
  async #asked<T>(context: PageContext, act: "signIn" | "setUp", schema: z.ZodType<T>): Promise<T> {
    try {
      return await jsonOf(context.req.raw, schema);
    } catch (error) {
      this.#noteRefusal(addressOf(context), act, error);
      throw error;
    }
  }

  #noteRefusal(address: string, act: "signIn" | "setUp", error: unknown, object = ""): void {
    if (error instanceof RunnelError)
      this.#deps.security.audit.note({ who: unauthenticated(address), act, object, result: error.kind });
  }

  async #signIn(name: string, password: string, address: string): Promise<Person> {
    const { people, tries, security } = this.#deps;
    // A name that is none may be a password in the wrong field.
    const object = people.find(name) === undefined ? "" : name;
    try {
      tries.begin(name, address);
      const person = await people.verify(name, password);
      if (person === undefined) {
        const sentence = people.hasAdmin
          ? "Name or password is wrong. Try again."
          : "Nobody has set up this console. Open the link that the server printed when it started.";
        throw new RunnelError("Denied", "sign in", sentence);
      }
      tries.succeeded(name, address);
      await security.audit.record({ who: actorOf(person, address), act: "signIn", result: "done" });
      const now = people.find(name);
      if (now !== undefined && now.password === person.password) return now;
      throw new RunnelError("Denied", "sign in", "The password was changed just now. Sign in again.");
    } catch (error) {
      this.#noteRefusal(address, "signIn", error, object);
      throw error;
    }
  }

  async #setUp({ token, name, password }: z.output<typeof SetUp>, address: string): Promise<Person> {
    const { people, security } = this.#deps;
    try {
      if (people.hasAdmin) throw new RunnelError("Denied", "set up", "The console is set up already. Sign in.");
      if (!this.#isSetUpToken(token)) {
        const sentence = "This link is not the one that the server printed last. Look there for the right one.";
        throw new RunnelError("Denied", "set up", sentence);
      }
      mustFit(personName, name, "Write a name without blanks at its ends.");
      mustFit(newPassword, password, `Choose a password of at least ${CONSOLE_LIMITS.passwordMin} characters.`);
    } catch (error) {
      // A name that does not fit may be a password in the wrong field.
      this.#noteRefusal(address, "setUp", error);
      throw error;
    }
    const who = actorOf({ name, role: "admin" }, address);
    return security.audit.perform({ who, act: "setUp", object: name }, () => people.setUp(name, password));
  }

  #isSetUpToken(token: string): boolean {
    const bytes = Buffer.from(token, "base64url");
    return bytes.length === TOKEN_BYTES && timingSafeEqual(bytes, this.#setUpToken);
  }

  /** Another session than before, whoever knew that one. */
  #answer(context: PageContext, { name, role }: Person): Response {
    const { sessions } = this.#deps;
    const before = sessions.find(tokenIn(context.req.header("cookie")) ?? "");
    if (before !== undefined) sessions.end(({ id }) => id === before.id);
    const browser = (context.req.header("user-agent") ?? "").slice(0, 200);
    const token = sessions.start({ name, isLocal: false, address: addressOf(context), browser });
    context.header("Set-Cookie", `${COOKIE}=${token}; ${COOKIE_ATTRIBUTES}`);
    return context.json({ name, role });
  }
}

/** Returns the token of a session that a request came with. */
export function tokenIn(cookies: string | undefined): string | undefined {
  for (const pair of (cookies ?? "").split(";")) {
    const [name, value] = pair.trim().split("=", 2);
    if (name === COOKIE) return value;
  }
  return undefined;
}

function mustFit(schema: z.ZodType, value: string, sentence: string): void {
  if (!schema.safeParse(value).success) throw new RunnelError("Invalid", "set up", sentence);
}
