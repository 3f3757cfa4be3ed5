// The console's doors: who is let in over TLS, who is not, and what an answer may be used for.
import { once } from "node:events";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { describe, expect, test } from "@jest/globals";
import { TIMING } from "@runnel/shared";
import { untilClosed } from "@runnel/shared/test/calls/bent-browser.ts";
import { PAGE_LIMITS } from "@runnel/shared/page";
import { ConsoleRig, cookieOf, PASSWORD } from "./console-rig.ts";

const SESSION_ENDED = 4401;
const MINUTE_MS = 60_000;
const IDLE_MS = 30 * MINUTE_MS;
const LASTS_MS = 12 * 60 * MINUTE_MS;
/** Head of a TLS record of 512 bytes, and nothing of them (RFC 8446 §5.1). */
const HELLO_BEGUN = Buffer.from([22, 3, 1, 2, 0]);
const JSON_TYPE = { "content-type": "application/json" };

describe("a server that stops", () => {
  test("waits for nobody who asks nothing, before, in or after the handshake", async () => {
    const rig = await ConsoleRig.open();
    const before = connect(rig.port, "127.0.0.1").on("error", () => undefined);
    const within = connect(rig.port, "127.0.0.1").on("error", () => undefined);
    const after = connectTls({ port: rig.port, host: "127.0.0.1", rejectUnauthorized: false });
    after.on("error", () => undefined);
    await Promise.all([once(before, "connect"), once(within, "connect"), once(after, "secureConnect")]);
    within.write(HELLO_BEGUN);
    // An answer on another connection comes after what was sent before it.
    expect((await rig.ask("/")).status).toBe(200);
    const closedMs = performance.now();
    await rig.closePort();
    expect(performance.now() - closedMs).toBeLessThan(TIMING.loginGraceMs / 3);
    for (const socket of [before, within, after]) socket.destroy();
  });
});

describe("a request", () => {
  test("under another name for this machine, as a page makes one that rebinds it, is misdirected", async () => {
    const rig = await ConsoleRig.open();
    const cookie = await rig.signedIn("Ada", "admin");
    for (const host of ["evil.example", `evil.example:${rig.port}`, "127.0.0.1", "127.0.0.1:1"]) {
      const headers = { host, cookie, origin: `https://${host}` };
      expect((await rig.ask("/", { headers })).status).toBe(421);
      expect((await rig.dial(headers)).status).toBe(421);
      const body = JSON.stringify({ name: "Ada", password: PASSWORD });
      const answer = await rig.ask("/sign-in", { method: "POST", headers: { ...headers, ...JSON_TYPE }, body });
      expect([answer.status, answer.headers["set-cookie"]]).toEqual([421, undefined]);
    }
    for (const host of [`127.0.0.1:${rig.port}`, `localhost:${rig.port}`, `files:${rig.port}`])
      expect((await rig.ask("/", { headers: { host } })).status).toBe(200);
  });

  test("of a page of another site is refused, with the cookie as without", async () => {
    const rig = await ConsoleRig.open();
    const cookie = await rig.signedIn("Ada", "admin");
    const body = JSON.stringify({ name: "Ada", password: PASSWORD });
    const own = rig.origin;
    for (const said of [
      { origin: "https://evil.example" },
      { origin: own.replace("https", "http") },
      { origin: "null" },
      { origin: `https://localhost:${rig.port}` },
      { origin: own, "sec-fetch-site": "cross-site" },
      { origin: own, "sec-fetch-site": "same-site" },
    ]) {
      const headers = { ...said, cookie };
      const posted = await rig.ask("/sign-in", { method: "POST", headers: { ...headers, ...JSON_TYPE }, body });
      expect([posted.status, posted.headers["set-cookie"]]).toEqual([403, undefined]);
      expect((await rig.ask("/", { headers })).status).toBe(403);
      expect((await rig.dial(headers)).status).toBe(403);
    }
    // A POST and an upgrade have to say an origin.
    expect((await rig.ask("/sign-in", { method: "POST", headers: { cookie, ...JSON_TYPE }, body })).status).toBe(403);
  });

  test("is JSON, and short", async () => {
    const rig = await ConsoleRig.open();
    await rig.security.people.add("Ada", "admin", PASSWORD);
    const headers = { origin: rig.origin };
    const body = JSON.stringify({ name: "Ada", password: PASSWORD });
    for (const type of ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data"]) {
      const asked = { method: "POST", headers: { ...headers, "content-type": type }, body };
      expect((await rig.ask("/sign-in", asked)).status).toBe(400);
    }
    const posted = (sent: string, isChunked: boolean): Promise<{ status: number }> =>
      rig.ask("/sign-in", { method: "POST", headers: { ...headers, ...JSON_TYPE }, body: sent, isChunked });
    for (const isChunked of [false, true])
      expect((await posted(body.padEnd(PAGE_LIMITS.bodyBytes + 1), isChunked)).status).toBe(413);
    for (const bent of ["", "{", "[]", '{"name":"Ada"}', '{"name":1,"password":"x"}', `{"a":1,${body.slice(1)}`])
      expect((await posted(bent, false)).status).toBe(400);
    expect((await posted(body.padEnd(PAGE_LIMITS.bodyBytes), false)).status).toBe(200);
  });

  test("is answered with strict headers, and none of CORS, whatever becomes of it", async () => {
    const rig = await ConsoleRig.open();
    await rig.security.people.add("Ada", "admin", PASSWORD);
    const answers = [
      await rig.ask("/"),
      await rig.ask("/people/ada"),
      await rig.ask("/none.js"),
      await rig.ask("/files/x"),
      await rig.ask("/", { method: "OPTIONS", headers: { origin: rig.origin } }),
      await rig.ask("/", { headers: { origin: "https://evil.example" } }),
      await rig.post("/sign-in", { name: "Ada", password: PASSWORD }),
      await rig.post("/sign-in", { name: "Ada", password: "wrong" }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 404, 403, 405, 403, 200, 403]);
    for (const { headers } of answers) {
      const policy = headers["content-security-policy"];
      for (const rule of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"])
        expect(policy).toContain(rule);
      expect(policy).toContain(`connect-src 'self' wss://127.0.0.1:${rig.port};`);
      expect(policy).not.toMatch(/unsafe|\*/);
      expect(headers).toMatchObject({
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "x-frame-options": "DENY",
      });
      expect(Object.keys(headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
    }
    for (const { headers } of answers.slice(-2)) expect(headers["cache-control"]).toBe("no-store");
  });
});

describe("a session", () => {
  test("is in a cookie that no script reads, that no other site's page is sent with, and that TLS alone carries", async () => {
    const rig = await ConsoleRig.open();
    await rig.security.people.add("Ada", "admin", PASSWORD);
    const { headers, text } = await rig.post("/sign-in", { name: "Ada", password: PASSWORD });
    expect(headers["set-cookie"]).toEqual([
      expect.stringMatching(/^__Host-runnel=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict$/),
    ]);
    expect(JSON.parse(text)).toEqual({ name: "Ada", role: "admin" });
  });

  test("is needed for calls: without one, or with a made-up one, nothing is answered", async () => {
    const rig = await ConsoleRig.open();
    for (const headers of [{}, { cookie: `__Host-runnel=${"w".repeat(43)}` }, { cookie: "__Host-runnel=" }]) {
      const { socket } = await rig.dial(headers);
      const closed = untilClosed(socket);
      socket.send(JSON.stringify({ session: "" }));
      socket.send(JSON.stringify({ hello: { protocol: 1, version: "x", features: [] } }));
      socket.send(JSON.stringify({ id: 1, request: { verb: "whoAmI" } }));
      expect(await closed).toEqual({ code: SESSION_ENDED, texts: [] });
    }
  });

  test("is another one after each sign-in, and the one of before has ended with its pages", async () => {
    const rig = await ConsoleRig.open();
    const before = await rig.signedIn("Ada", "admin");
    const page = await rig.page(before);
    const after = cookieOf(await rig.post("/sign-in", { name: "Ada", password: PASSWORD }, { cookie: before }));
    expect(after).not.toBe(before);
    expect((await page.closed).code).toBe(SESSION_ENDED);
    await expect(rig.page(before)).rejects.toThrow("did not let the page in");
    expect((await (await rig.page(after)).ask("whoAmI", {})).name).toBe("Ada");
    expect(rig.sessions.list()).toHaveLength(1);
  });

  test("ends when nobody used it for half an hour, whatever its pages ask by themselves", async () => {
    const rig = await ConsoleRig.open();
    const cookie = await rig.signedIn("Ada", "admin");
    const page = await rig.page(cookie);
    await rig.clock.advance(20 * MINUTE_MS);
    await page.ask("whoAmI", {});
    await rig.clock.advance(IDLE_MS - MINUTE_MS);
    await page.ask("devices", {});
    expect(rig.sessions.list()).toHaveLength(1);
    await rig.clock.advance(MINUTE_MS);
    expect((await page.closed).code).toBe(SESSION_ENDED);
    await expect(rig.page(cookie)).rejects.toThrow("did not let the page in");
  });

  test("ends after twelve hours, however much it is used", async () => {
    const rig = await ConsoleRig.open();
    const page = await rig.page(await rig.signedIn("Ada", "admin"));
    const stepMs = 20 * MINUTE_MS;
    for (let usedMs = stepMs; usedMs < LASTS_MS; usedMs += stepMs) {
      await rig.clock.advance(stepMs);
      await page.ask("whoAmI", {});
    }
    expect(rig.sessions.list()).toHaveLength(1);
    await rig.clock.advance(stepMs);
    expect((await page.closed).code).toBe(SESSION_ENDED);
  });

  test("is listed and ended one by one: own ones by everybody, those of others by an admin only", async () => {
    const rig = await ConsoleRig.open();
    const [ada, bob] = [
      await rig.page(await rig.signedIn("Ada", "admin")),
      await rig.page(await rig.signedIn("Bob", "user")),
    ];
    const phone = await rig.page(await rig.signedIn("Bob", "user"));
    const seen = await bob.ask("sessions", {});
    expect(seen.sessions.map(({ person, isOwn }) => [person, isOwn])).toEqual([
      ["Bob", true],
      ["Bob", false],
    ]);
    const all = (await ada.ask("sessions", {})).sessions;
    const ids = all.map(({ id }) => id);
    expect(all.map(({ person }) => person)).toEqual(["Ada", "Bob", "Bob"]);
    expect(await bob.kindOf("endSession", { id: ids[0] })).toBe("NotFound");
    expect(await bob.kindOf("endSession", { id: ids[2] })).toBe("done");
    expect((await phone.closed).code).toBe(SESSION_ENDED);
    expect(await ada.kindOf("endSession", { id: ids[1] })).toBe("done");
    expect((await bob.closed).code).toBe(SESSION_ENDED);
    expect((await ada.ask("sessions", {})).sessions).toHaveLength(1);
  });

  test("ends with signing out, and when its person is removed or gets another password", async () => {
    const rig = await ConsoleRig.open();
    const ada = await rig.page(await rig.signedIn("Ada", "admin"));
    const out = await rig.signedIn("Bob", "user");
    await (await rig.page(out)).ask("signOut", {});
    await expect(rig.page(out)).rejects.toThrow("did not let the page in");
    const [one, other] = [
      await rig.page(await rig.signedIn("Bob", "user")),
      await rig.page(await rig.signedIn("Bob", "user")),
    ];
    await one.ask("setPassword", { before: PASSWORD, password: "another password" });
    expect((await other.closed).code).toBe(SESSION_ENDED);
    expect(await one.kindOf("whoAmI", {})).toBe("done");
    await ada.ask("removePerson", { name: "Bob", revokesDevices: false });
    expect((await one.closed).code).toBe(SESSION_ENDED);
  });
});

describe("a download", () => {
  test("is fetched once, within a minute, and saved rather than shown", async () => {
    const rig = await ConsoleRig.open();
    const page = await rig.page(await rig.signedIn("Ada", "admin"));
    const { ticket } = await page.ask("auditCsv", {});
    expect((await rig.ask(`/files/${ticket}`, { method: "HEAD" })).status).toBe(405);
    const { status, headers, text } = await rig.ask(`/files/${ticket}`);
    expect([status, headers["content-disposition"]]).toEqual([
      200,
      expect.stringMatching(/^attachment; filename="runnel-audit.csv"/),
    ]);
    expect(text).toContain("signIn");
    expect((await rig.ask(`/files/${ticket}`)).status).toBe(403);
    const late = await page.ask("auditCsv", {});
    await rig.clock.advance(MINUTE_MS);
    expect((await rig.ask(`/files/${late.ticket}`)).status).toBe(403);
  });
});
