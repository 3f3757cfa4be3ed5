// The door of the local page, on a real port and the simulated clock: who comes in, who does not, and when it closes.
import { once } from "node:events";
import { existsSync, readFileSync, statSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { describe, expect, test } from "@jest/globals";
import { settle } from "../../src/host/simulated/simulated-clock.ts";
import { PAGE_LIMITS } from "../../src/page/page-limits.ts";
import { ask, dial, enterByFile, enterByLink, ownOrigin, untilClosed } from "../calls/bent-browser.ts";
import { openDoor } from "./door-rig.ts";

const WRONG = "w".repeat(43);
const SESSION_ENDED = 4401;
const TRY_AGAIN = 1013;

function ticketIn(path: string): string {
  return /name="ticket" value="([\w-]{43})"/.exec(readFileSync(path, "utf8"))?.[1] ?? "";
}

function sessionIn(html: string): string {
  return /<meta name="session" content="([\w-]{43})">/.exec(html)?.[1] ?? "";
}

/** Resolves with whether anybody listens at the port. */
async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  const isOpen = await Promise.race([
    once(socket, "connect").then(() => true),
    new Promise<boolean>((done) => {
      socket.once("error", () => done(false));
    }),
  ]).catch(() => false);
  socket.destroy();
  return isOpen;
}

describe("a ticket", () => {
  test("lets in from the file that a browser is started with, and the file is gone then", async () => {
    const { door, port, page } = await openDoor();
    const path = door.entryFile("Ada");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const { status, headers, text } = await enterByFile(port, ticketIn(path));
    expect({ status, type: headers["content-type"] }).toEqual({ status: 200, type: "text/html; charset=UTF-8" });
    expect(existsSync(path)).toBe(false);
    const { client } = await page(sessionIn(text));
    expect(await client.ask("add", { numbers: [1, 2] })).toEqual({ sum: 3 });
    const script = await ask(port, "/enter.js");
    expect(script.headers["content-type"]).toBe("text/javascript; charset=utf-8");
    expect(script.text).toContain('sessionStorage.setItem("session", content)');
  });

  test("lets in from a link, and is in none of its address's parts that a server is sent", async () => {
    const { door, port, page } = await openDoor();
    const link = new URL(door.link("Ada"));
    expect([link.pathname, link.search]).toEqual(["/", ""]);
    const { status, text } = await enterByLink(port, link.hash.slice(1));
    expect(status).toBe(200);
    const { session } = JSON.parse(text) as { session: string };
    expect(Buffer.from(session, "base64url")).toHaveLength(32);
    expect(await (await page(session)).client.ask("add", { numbers: [] })).toEqual({ sum: 0 });
  });

  test("that was used is refused, whichever way it comes", async () => {
    const { port, ticket } = await openDoor();
    const used = ticket();
    expect((await enterByLink(port, used)).status).toBe(200);
    const again = await enterByLink(port, used);
    expect(again.status).toBe(403);
    expect(JSON.parse(again.text)).toEqual({
      error: { kind: "Denied", message: 'This ticket was used, or has run out. Open a new page: "runnel ui".' },
    });
    const byFile = await enterByFile(port, used);
    expect([byFile.status, byFile.text]).toEqual([
      403,
      'This ticket was used, or has run out. Open a new page: "runnel ui".\n',
    ]);
  });

  test("that was not used within a minute is refused, and its file is gone", async () => {
    const { door, clock, port } = await openDoor();
    const path = door.entryFile("Ada");
    const late = ticketIn(path);
    await clock.advance(PAGE_LIMITS.ticketMs - 1);
    expect(existsSync(path)).toBe(true);
    await clock.advance(1);
    expect(existsSync(path)).toBe(false);
    expect((await enterByFile(port, late)).status).toBe(403);
  });

  test.each(["", "x", WRONG])("%j is refused", async (guess) => {
    const { port } = await openDoor();
    expect((await enterByLink(port, guess)).status).toBe(403);
    expect((await enterByFile(port, guess)).status).toBe(403);
  });

  test("comes as JSON from a page, as a form from the file, and as nothing else", async () => {
    const { port, ticket } = await openDoor();
    const from = { json: ownOrigin(port), form: { origin: "null" } };
    const good = ticket();
    const json = JSON.stringify({ ticket: good });
    const form = `ticket=${good}`;
    for (const [headers, type, body] of [
      [from.json, "application/x-www-form-urlencoded", form],
      [from.json, "text/plain", json],
      [from.form, "application/json", json],
      [from.form, "text/plain", form],
    ] as const) {
      const { status } = await ask(port, "/enter", {
        method: "POST",
        headers: { ...headers, "content-type": type },
        body,
      });
      expect(status).toBe(415);
    }
    for (const body of ["", "{", "[]", `{"ticket":1}`, `{"ticket":"${good}","more":1}`]) {
      const headers = { ...from.json, "content-type": "application/json" };
      expect((await ask(port, "/enter", { method: "POST", headers, body })).status).toBe(400);
    }
    expect((await enterByLink(port, good)).status).toBe(200);
  });
});

describe("a request", () => {
  test("of a foreign host, site or origin is refused before anything else, over HTTP and for a WebSocket", async () => {
    const { port, ticket } = await openDoor();
    const body = JSON.stringify({ ticket: ticket() });
    const json = { "content-type": "application/json" };
    for (const [status, headers] of [
      [421, { ...ownOrigin(port), host: `localhost:${port}` }],
      [421, { ...ownOrigin(port), host: "evil.example" }],
      [403, { origin: "https://evil.example" }],
      [403, { ...ownOrigin(port), "sec-fetch-site": "cross-site" }],
    ] as const) {
      expect((await ask(port, "/enter", { method: "POST", headers: { ...json, ...headers }, body })).status).toBe(
        status,
      );
      expect((await ask(port, "/", { headers })).status).toBe(status);
      expect((await dial(port, headers)).status).toBe(status);
    }
    for (const headers of [{ origin: "null" }, {}]) {
      expect((await ask(port, "/other", { method: "POST", headers: { ...json, ...headers }, body })).status).toBe(403);
      expect((await dial(port, headers)).status).toBe(403);
    }
    // None of them has used the ticket up.
    const good = { method: "POST", headers: { ...json, ...ownOrigin(port) }, body };
    expect((await ask(port, "/enter", good)).status).toBe(200);
  });

  test("with too long a body is refused, with a length and without", async () => {
    const { port, ticket } = await openDoor();
    const headers = { ...ownOrigin(port), "content-type": "application/json" };
    const body = ` ${JSON.stringify({ ticket: ticket() })}`.padEnd(PAGE_LIMITS.bodyBytes + 1);
    for (const isChunked of [false, true])
      expect((await ask(port, "/enter", { method: "POST", headers, body, isChunked })).status).toBe(413);
    expect(
      (await ask(port, "/enter", { method: "POST", headers, body: body.slice(0, PAGE_LIMITS.bodyBytes) })).status,
    ).toBe(200);
  });

  test("is answered with strict headers, and none of CORS, whatever becomes of it", async () => {
    const { door, port, ticket } = await openDoor();
    const offered = (): string => door.offer({ name: "a", type: "text/plain", content: () => [Buffer.from("a")] });
    const answers = [
      await ask(port, "/"),
      await ask(port, "/", { method: "HEAD" }),
      await ask(port, "/assets/index-A1b2C3d4.js"),
      await ask(port, "/none.js"),
      await ask(port, "/enter.js"),
      await ask(port, `/files/${offered()}`),
      await ask(port, `/files/${WRONG}`),
      await ask(port, "/", { headers: { host: "evil.example" } }),
      await ask(port, "/", { headers: { origin: "https://evil.example" } }),
      await ask(port, "/", {
        method: "OPTIONS",
        headers: { ...ownOrigin(port), "access-control-request-method": "PUT" },
      }),
      await ask(port, "/none", { method: "DELETE", headers: ownOrigin(port) }),
      await ask(port, "/enter", { method: "POST", headers: ownOrigin(port), body: "x".repeat(100_000) }),
      await enterByLink(port, WRONG),
      await enterByLink(port, ticket()),
      await enterByFile(port, ticket()),
    ];
    expect(answers.map(({ status }) => status)).toEqual([
      200, 200, 200, 404, 200, 200, 403, 421, 403, 405, 405, 413, 403, 200, 200,
    ]);
    for (const { headers, status } of answers) {
      const policy = headers["content-security-policy"];
      for (const rule of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"])
        expect(policy).toContain(rule);
      expect(policy).toContain(status === 421 ? "connect-src 'self';" : `connect-src 'self' ws://127.0.0.1:${port};`);
      expect(policy).not.toMatch(/unsafe|\*/);
      expect(headers).toMatchObject({
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "x-frame-options": "DENY",
      });
      expect(Object.keys(headers).filter((name) => /^access-control|^set-cookie$|^x-powered-by$/.test(name))).toEqual(
        [],
      );
    }
    for (const answer of answers.slice(-3)) expect(answer.headers["cache-control"]).toBe("no-store");
  });
});

describe("wrong tokens", () => {
  test("are counted together, whatever they were for; past the limit no token is looked at until some time has passed", async () => {
    const { clock, page, port, session, ticket } = await openDoor();
    const [known, good] = [await session(), ticket()];
    for (let time = 2; time < PAGE_LIMITS.wrongTokens; time += 2) {
      expect((await enterByLink(port, WRONG)).status).toBe(403);
      expect((await ask(port, `/files/${WRONG}`)).status).toBe(403);
    }
    for (let time = 0; time < 2; time += 1) {
      const { socket } = await dial(port);
      socket.send(JSON.stringify({ session: WRONG }));
      expect((await untilClosed(socket)).code).toBe(SESSION_ENDED);
    }
    const refused = await enterByLink(port, good);
    expect(refused.status).toBe(429);
    expect(refused.headers["retry-after"]).toBe("1");
    expect((await ask(port, `/files/${WRONG}`)).status).toBe(429);
    const { socket } = await dial(port);
    socket.send(JSON.stringify({ session: known }));
    expect((await untilClosed(socket)).code).toBe(TRY_AGAIN);
    await clock.advance(2 * PAGE_LIMITS.graceMs);
    expect((await enterByLink(port, good)).status).toBe(200);
    expect(await (await page(known)).client.ask("add", { numbers: [6] })).toEqual({ sum: 6 });
  });

  test("of others leave a page that is open alone", async () => {
    const { port, page, session } = await openDoor();
    const { client } = await page(await session());
    for (let time = 0; time < PAGE_LIMITS.wrongTokens; time += 1) await enterByLink(port, WRONG);
    expect((await enterByLink(port, WRONG)).status).toBe(429);
    expect(await client.ask("add", { numbers: [5] })).toEqual({ sum: 5 });
  });
});

describe("a WebSocket", () => {
  test.each([
    ["another session", JSON.stringify({ session: WRONG })],
    ["a hello", JSON.stringify({ hello: { protocol: 1, version: "x" } })],
    ["no JSON", "session"],
    ["a session and more", JSON.stringify({ session: WRONG, id: 1 })],
  ])("whose first text is %s is told nothing and closed", async (_, text) => {
    const { port, session } = await openDoor();
    await session();
    const { status, socket } = await dial(port);
    expect(status).toBe(101);
    socket.send(text);
    socket.send(JSON.stringify({ hello: { protocol: 1, version: "x" } }));
    expect(await untilClosed(socket)).toEqual({ code: SESSION_ENDED, texts: [] });
  });

  test("that names no session in time is told nothing and closed", async () => {
    const { clock, port } = await openDoor();
    const { socket } = await dial(port);
    const closed = untilClosed(socket);
    await clock.advance(PAGE_LIMITS.sessionMs);
    expect(await closed).toEqual({ code: SESSION_ENDED, texts: [] });
  });

  test("is not opened without an upgrade's headers, or at another path", async () => {
    const { port } = await openDoor();
    expect(
      (await ask(port, "/calls", { headers: { connection: "upgrade", upgrade: "websocket", ...ownOrigin(port) } }))
        .status,
    ).toBe(400);
    for (const path of ["/", "/calls/", "/calls?x", "/enter"]) {
      expect((await dial(port, ownOrigin(port), path)).status).toBe(404);
    }
  });

  test.each<[string, string | Buffer, number, string]>([
    ["longer than is allowed", "x".repeat(PAGE_LIMITS.bodyBytes + 1), 1009, "TooLarge"],
    ["not a text", Buffer.from("{}"), 1003, "Invalid"],
    ["no message", "{}", 1000, "Invalid"],
  ])("of a page is closed at a message that is %s", async (_, message, code, kind) => {
    const { page, port, problems, session } = await openDoor();
    const token = await session();
    const { socket } = await page(token);
    socket.send(message);
    expect((await untilClosed(socket)).code).toBe(code);
    while (problems.length === 0) await settle();
    expect(problems).toEqual([expect.objectContaining({ kind })]);
    // The page session is still there.
    expect(await (await page(token)).client.ask("add", { numbers: [port] })).toEqual({ sum: port });
  });

  test("of a page knows the verbs of its table only", async () => {
    const { page, session } = await openDoor();
    const { client } = await page(await session());
    const table = client as unknown as { ask(verb: string, request: object): Promise<unknown> };
    await expect(client.ask("add", { numbers: ["1"] as unknown as number[] })).rejects.toMatchObject({
      kind: "Invalid",
    });
    await expect(table.ask("stop", {}).catch((error: unknown) => Promise.reject(error))).rejects.toMatchObject({
      kind: "Unsupported",
    });
  });

  test("more than so many pages are told to try again", async () => {
    const { page, port, session } = await openDoor();
    const token = await session();
    for (let open = 0; open < PAGE_LIMITS.pages; open += 1) await page(token);
    const { socket } = await dial(port);
    socket.send(JSON.stringify({ session: token }));
    expect((await untilClosed(socket)).code).toBe(TRY_AGAIN);
  });
});

test("silent connections, however many, keep no page out and end none", async () => {
  const { page, port, session } = await openDoor();
  const { client } = await page(await session());
  const silent: Socket[] = [];
  for (let number = 0; number < 3 * PAGE_LIMITS.connections; number += 1) {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => undefined);
    silent.push(socket);
    await once(socket, "connect");
  }
  expect(await (await page(await session())).client.ask("add", { numbers: [1] })).toEqual({ sum: 1 });
  expect(await client.ask("add", { numbers: [2] })).toEqual({ sum: 2 });
  for (const socket of silent) socket.destroy();
});

describe("the built files", () => {
  test("are served with the right types, for ever where their names have a hash", async () => {
    const { port } = await openDoor();
    const asset = await ask(port, "/assets/index-A1b2C3d4.js");
    expect(asset).toMatchObject({
      text: "built();",
      headers: {
        "content-type": "text/javascript; charset=utf-8",
        "cache-control": "public, max-age=31536000, immutable",
      },
    });
    const icon = await ask(port, "/favicon.svg?x");
    expect(icon).toMatchObject({
      text: "<svg/>",
      headers: { "content-type": "image/svg+xml", "cache-control": "no-cache" },
    });
    const head = await ask(port, "/favicon.svg", { method: "HEAD" });
    expect(head).toMatchObject({ status: 200, text: "", headers: { "content-length": "6" } });
  });

  test.each(["/", "/drives", "/drives/2/history?at=1"])("show their start at %s", async (path) => {
    const { port } = await openDoor();
    const { status, headers, text } = await ask(port, path);
    expect({ status, text }).toEqual({ status: 200, text: "<!doctype html><title>built</title>" });
    expect(headers).toMatchObject({ "content-type": "text/html; charset=utf-8", "cache-control": "no-cache" });
  });

  test.each([
    "/none.js",
    "/assets/none-A1b2C3d4.js",
    "/../secret.txt",
    "/assets/../../secret.txt",
    "/%2e%2e/secret.txt",
    "/..%2fsecret.txt",
    "/..%5csecret.txt",
    "/assets/%00.js",
    "/%ff.js",
  ])("have nothing at %s", async (path) => {
    const { port } = await openDoor();
    const { status, text } = await ask(port, path);
    expect(status).toBe(404);
    expect(text).toContain("There is no such page.");
  });

  test("that are not there are said to be built, and how", async () => {
    const { port } = await openDoor({ builtFolder: "/nowhere" });
    const { status, headers, text } = await ask(port, "/");
    expect([status, headers["content-type"]]).toEqual([503, "text/plain; charset=UTF-8"]);
    expect(text).toContain('Run "npm run build:ui"');
  });
});

describe("a download", () => {
  test("is fetched once, as an attachment", async () => {
    const { door, port } = await openDoor();
    const content = async function* (): AsyncIterable<Uint8Array> {
      for (let part = 0; part < 100; part += 1) yield Buffer.alloc(10_000, "x");
    };
    const ticket = door.offer({ name: "größe.csv", type: "text/csv", content });
    expect((await ask(port, `/files/${ticket}`, { method: "HEAD" })).status).toBe(405);
    const { status, headers, text } = await ask(port, `/files/${ticket}`);
    expect(status).toBe(200);
    expect(text).toHaveLength(1_000_000);
    expect(headers).toMatchObject({
      "content-type": "text/csv",
      "content-disposition": `attachment; filename="gr__e.csv"; filename*=UTF-8''gr%C3%B6%C3%9Fe.csv`,
      "cache-control": "no-store",
    });
    expect((await ask(port, `/files/${ticket}`)).status).toBe(403);
  });

  test("is refused after a minute, with another ticket, and for another site", async () => {
    const { clock, door, port, ticket } = await openDoor();
    const offered = door.offer({ name: "a", type: "text/plain", content: () => [Buffer.from("a")] });
    expect((await ask(port, `/files/${ticket()}`)).status).toBe(403);
    expect((await ask(port, `/files/${offered}`, { headers: { "sec-fetch-site": "cross-site" } })).status).toBe(403);
    expect((await enterByLink(port, offered)).status).toBe(403);
    await clock.advance(PAGE_LIMITS.ticketMs);
    expect((await ask(port, `/files/${offered}`)).status).toBe(403);
  });
});

describe("the listener", () => {
  test("is on this machine's loopback only", async () => {
    const { door, port } = await openDoor();
    expect(new URL(door.url).hostname).toBe("127.0.0.1");
    const row = readFileSync("/proc/net/tcp", "utf8")
      .split("\n")
      .find((line) => line.includes(`:${port.toString(16).toUpperCase().padStart(4, "0")} 00000000:0000 0A`));
    expect(row).toContain(" 0100007F:");
  });

  test("is gone ten minutes after nobody came", async () => {
    const rig = await openDoor();
    const { clock, port, ticket } = rig;
    await clock.advance(PAGE_LIMITS.idleMs - 1);
    expect(await isListening(port)).toBe(true);
    // Whoever asks for a page once more begins the time anew.
    ticket();
    await clock.advance(PAGE_LIMITS.idleMs - 1);
    expect(await isListening(port)).toBe(true);
    expect(rig.closings).toBe(0);
    await clock.advance(1);
    expect(rig.closings).toBe(1);
    expect(await isListening(port)).toBe(false);
  });

  test("is gone ten minutes after the last page is gone, and not while one is open", async () => {
    const rig = await openDoor();
    const { clock, leave, page, port, session } = rig;
    const token = await session();
    const [first, second] = [await page(token), await page(await session())];
    await clock.advance(10 * PAGE_LIMITS.idleMs);
    await leave(first);
    await clock.advance(PAGE_LIMITS.idleMs);
    // The session of the page that is gone has ended, the listener has not.
    const { socket } = await dial(port);
    socket.send(JSON.stringify({ session: token }));
    expect((await untilClosed(socket)).code).toBe(SESSION_ENDED);
    expect(await second.client.ask("add", { numbers: [3] })).toEqual({ sum: 3 });
    await leave(second);
    await clock.advance(PAGE_LIMITS.idleMs - 1);
    expect(await isListening(port)).toBe(true);
    await clock.advance(1);
    expect(rig.closings).toBe(1);
    expect(await isListening(port)).toBe(false);
  });

  test("that is closed answers what was asked, tells each page that its session has ended, and leaves no file", async () => {
    const { clock, door, page, port, session } = await openDoor();
    const path = door.entryFile("Ada");
    const { client, socket } = await page(await session());
    const hanging = expect(client.ask("hang", {})).rejects.toMatchObject({ kind: "Unavailable" });
    const [following, idle] = [await page(await session()), await page(await session())];
    const waiting = following.client.ask("wait", {});
    // Waits until what was asked before has come.
    for (const each of [client, following.client]) await each.ask("add", { numbers: [] });
    const ends = [untilClosed(idle.socket), untilClosed(following.socket)];
    const closed = door.close();
    for (const ended of ends) expect((await ended).code).toBe(SESSION_ENDED);
    // A call that goes on until it is cancelled has been.
    expect(await waiting).toEqual({});
    expect(existsSync(path)).toBe(false);
    // A call that is never answered is not waited for.
    await clock.advance(PAGE_LIMITS.finishMs);
    await closed;
    await hanging;
    expect(socket.readyState).not.toBe(socket.OPEN);
    expect(await isListening(port)).toBe(false);
    expect(clock.pendingTimers).toBe(0);
  });
});
