// A console behind the server's own acceptor, over TLS on a real port; its clock and its disk are simulated.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach } from "@jest/globals";
import {
  type CallRequest,
  type CallResult,
  CallClient,
  type Listener,
  RunnelError,
  SimulatedClock,
  SimulatedDisk,
  WsAcceptor,
  WsCarrier,
} from "@runnel/shared";
import { PAGE_PROTOCOL } from "@runnel/shared/page";
import {
  type Answer,
  type Asked,
  ask,
  dial,
  untilClosed,
  type WebSocket,
} from "@runnel/shared/test/calls/bent-browser.ts";
import type { AuditEntry } from "../../src/audit/audit-entry.ts";
import { type Security, openSecurity } from "../../src/auth/security.ts";
import { SignInTries } from "../../src/auth/sign-in-tries.ts";
import { Views } from "../../src/console/views.ts";
import { ConsoleHosts } from "../../src/console/console-hosts.ts";
import { ConsoleSessions } from "../../src/console/console-sessions.ts";
import { Console } from "../../src/console/console.ts";
import { CONSOLE_VERBS } from "../../src/console/verbs/index.ts";
import { openEngines } from "../../src/engines.ts";
import { OfferedFolders } from "../../src/offer/offered-folders.ts";
import type { ServedFolder } from "../../src/served-folders.ts";
import type { Offer } from "../../src/served-volume.ts";
import { ServedVolumes } from "../../src/served-volumes.ts";
import type { RunningServer } from "../../src/server-api.ts";

export const PASSWORD = "correct horse battery";
export const CALLS = "/calls";

type Verbs = typeof CONSOLE_VERBS;

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

export interface Page {
  socket: WebSocket;
  ask<V extends keyof Verbs & string>(verb: V, request: CallRequest<Verbs[V]>): Promise<CallResult<Verbs[V]>>;
  /** Kind of the error, or "done". */
  kindOf(verb: string, request: object): Promise<string>;
  /** Sentence with which it was closed. */
  closed: Promise<{ code: number }>;
}

export class ConsoleRig {
  readonly clock: SimulatedClock;
  readonly security: Security;
  readonly server: RunningServer;
  readonly sessions: ConsoleSessions;
  readonly console: Console;
  readonly port: number;
  readonly warnings: string[];
  /** Ends the acceptor, once. */
  readonly closePort: () => Promise<void>;

  private constructor(
    given: Pick<
      ConsoleRig,
      "clock" | "security" | "server" | "sessions" | "console" | "port" | "warnings" | "closePort"
    >,
  ) {
    this.clock = given.clock;
    this.closePort = given.closePort;
    this.security = given.security;
    this.server = given.server;
    this.sessions = given.sessions;
    this.console = given.console;
    this.port = given.port;
    this.warnings = given.warnings;
  }

  static async open(): Promise<ConsoleRig> {
    const clock = new SimulatedClock();
    const disk = new SimulatedDisk({ clock, seed: 1 });
    const warnings: string[] = [];
    const warn = (message: string, error?: unknown): void => void warnings.push(`${message} ${String(error)}`);
    const security = await openSecurity(disk, clock, "/data", { hostname: "files", isLate: false, warn });
    const base = await mkdtemp(join(tmpdir(), "runnel-console-"));
    cleanups.push(() => rm(base, { recursive: true }));
    const builtFolder = join(base, "dist");
    await mkdir(builtFolder);
    await writeFile(join(builtFolder, "index.html"), "<!doctype html><title>console</title>");
    let opened: Console | undefined;
    const acceptor = new WsAcceptor({ identity: () => security.identity, pages: () => opened?.pages });
    const listener: Listener = await acceptor.listen("127.0.0.1", 0, () => undefined);
    const { port } = listener;
    const volumes = [{ name: "docs", folder: "/srv/docs", volume: { epoch: "e" }, unavailable: undefined }];
    const server = { url: `wss://127.0.0.1:${port}`, volumes, connected: () => false, openers: async () => [] };
    const sessions = new ConsoleSessions(clock);
    // The volume is not open: verbs that need more have tests of their own (server/test/live/), and with a real server.
    const offerOf = ({ name, folder }: ServedFolder): Offer => ({ name, folder, probe: away, open: away });
    const served = new ServedVolumes([offerOf({ name: "docs", folder: "/srv/docs" })], {
      clock,
      ended: () => undefined,
      warn,
    });
    const engines = await openEngines({
      clock,
      disk,
      server: { ...server, served, connections: [], carried: () => ({ sentBytes: 0, receivedBytes: 0 }) } as never,
      security,
      dataFolder: "/data",
      hostname: "files",
      offered: await OfferedFolders.open(disk, []),
      listed: [],
      offerOf,
    });
    const deps = {
      server: server as unknown as RunningServer,
      security,
      hostname: "files",
      people: security.people,
      engines,
      tries: new SignInTries(clock),
      views: new Views({ clock, engines, people: security.people }),
      sessions,
      clock,
      facts: { version: "1.2.3", listen: `127.0.0.1:${port}`, addresses: [], dataFolder: "/data" },
      startedMs: 0,
    };
    const certificate = (): string | undefined => security.identity?.certificate;
    const hosts = new ConsoleHosts({ port, hostname: "files", addresses: [], certificate });
    const console = new Console(deps, { hosts, builtFolder, entryFolder: join(base, "entry"), warn });
    opened = console;
    let closing: Promise<void> | undefined;
    const closePort = (): Promise<void> => (closing ??= listener.close());
    cleanups.push(async () => {
      const closed = console.close();
      await clock.advance(10_000);
      await closed;
      await closePort();
      await engines.close();
      await security.release();
    });
    return new ConsoleRig({ clock, security, server: deps.server, sessions, console, port, warnings, closePort });
  }

  get origin(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  /** Sends a request over TLS as the console's own page would, with what else is said. */
  ask(path: string, asked: Asked = {}): Promise<Answer> {
    return ask(this.port, path, { isSecure: true, ...asked });
  }

  post(path: string, body: object, headers: Record<string, string> = {}): Promise<Answer> {
    const own = { origin: this.origin, "content-type": "application/json", ...headers };
    return this.ask(path, { method: "POST", headers: own, body: JSON.stringify(body) });
  }

  /** Adds a person and signs in. @returns the cookie. */
  async signedIn(name: string, role: "admin" | "user"): Promise<string> {
    if (this.security.people.find(name) === undefined) await this.security.people.add(name, role, PASSWORD);
    return cookieOf(await this.post("/sign-in", { name, password: PASSWORD }));
  }

  dial(headers: Record<string, string>): Promise<{ status: number; socket: WebSocket }> {
    return dial(this.port, { origin: this.origin, ...headers }, CALLS, true);
  }

  /** Opens a page with a cookie. @throws when it is not let in. */
  async page(cookie: string): Promise<Page> {
    const { socket } = await this.dial({ cookie });
    return this.greet(socket, "");
  }

  /** Opens a page on loopback. `opens`: the link of `runnel console`. */
  async localPage(opens: string): Promise<Page> {
    const { port, hash } = new URL(opens);
    const entered = await ask(Number(port), "/enter", {
      method: "POST",
      headers: { origin: `http://127.0.0.1:${port}`, "content-type": "application/json" },
      body: JSON.stringify({ ticket: hash.slice(1) }),
    });
    const { socket } = await dial(Number(port));
    return this.greet(socket, (JSON.parse(entered.text) as { session: string }).session);
  }

  private async greet(socket: WebSocket, session: string): Promise<Page> {
    cleanups.push(async () => socket.terminate());
    const closed = untilClosed(socket);
    socket.send(JSON.stringify({ session }));
    const opened = await CallClient.open(new WsCarrier(socket), CONSOLE_VERBS, {
      hello: { protocol: PAGE_PROTOCOL, version: "page", features: [] },
      clock: this.clock,
      deadlineMs: 100_000_000,
      operation: "ask",
      sentences: { silent: "Silent.", ended: "Ended.", notUnderstood: "Not understood." },
    });
    if (opened === undefined) throw new Error("The console did not let the page in.");
    const { client } = opened;
    const kindOf = (verb: string, request: object): Promise<string> =>
      client.ask(verb as "whoAmI", request as Record<string, never>).then(
        () => "done",
        (error: unknown) => (error instanceof RunnelError ? error.kind : String(error)),
      );
    return { socket, closed, ask: (verb, request) => client.ask(verb, request as never) as never, kindOf };
  }

  /** All entries of the audit log, the oldest first. */
  async entries(): Promise<AuditEntry[]> {
    await this.clock.advance(60_000);
    return (await this.security.audit.page({})).entries.toReversed();
  }
}

/** Is what opens a volume whose folder is not there. */
async function away(): Promise<never> {
  throw new RunnelError("Unavailable", "serve", "The folder is not there: is its disk mounted?");
}

/** Returns the cookie that an answer sets, as a browser sends it back. */
export function cookieOf({ status, headers, text }: Answer): string {
  if (status !== 200) throw new Error(`Not signed in: ${status} ${text}`);
  return (headers["set-cookie"]?.[0] ?? "").split(";", 1)[0] ?? "";
}
