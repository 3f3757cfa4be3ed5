// Signing in, and setting up: what is counted, who waits, and who does not.
import { describe, expect, test } from "@jest/globals";
import { SIGN_IN_TRIES } from "../../src/auth/sign-in-tries.ts";
import { CONSOLE_LIMITS } from "../../src/console/console-limits.ts";
import { ConsoleRig, cookieOf, PASSWORD } from "./console-rig.ts";

describe("setting up", () => {
  test("takes the token that the server printed, once, and nothing else; from then on there is none", async () => {
    const rig = await ConsoleRig.open();
    const token = rig.console.setUpToken ?? "";
    expect(Buffer.from(token, "base64url")).toHaveLength(32);
    const asked = { token, name: "Ada", password: PASSWORD };
    for (const wrong of ["", "x", "w".repeat(43)])
      expect((await rig.post("/set-up", { ...asked, token: wrong })).status).toBe(403);
    for (const bent of [{ password: "short" }, { name: "" }, { name: " Ada" }, { name: "A\u200bda" }])
      expect((await rig.post("/set-up", { ...asked, ...bent })).status).toBe(400);
    expect((await rig.post("/sign-in", { name: "Ada", password: PASSWORD })).status).toBe(403);
    const [first, second] = await Promise.all([
      rig.post("/set-up", asked),
      rig.post("/set-up", { ...asked, name: "Eve" }),
    ]);
    const made = [first, second].filter(({ status }) => status === 200);
    expect(made).toHaveLength(1);
    const page = await rig.page(cookieOf(made[0] ?? first));
    expect(await page.ask("whoAmI", {})).toMatchObject({ role: "admin", isSetUp: true, server: "files" });
    expect(rig.security.people.list()).toHaveLength(1);
    expect(rig.console.setUpToken).toBeUndefined();
    const again = await rig.post("/set-up", { ...asked, name: "Mallory" });
    expect([again.status, again.text]).toEqual([403, expect.stringContaining("set up already")]);
  });
});

describe("wrong passwords", () => {
  test("are counted by network; many at once are not looked at, and a right one is let in after a wait", async () => {
    const rig = await ConsoleRig.open();
    await rig.security.people.add("Ada", "admin", PASSWORD);
    const { atOnce, refillMs } = SIGN_IN_TRIES.network;
    const tries = await Promise.all(
      Array.from({ length: atOnce + 5 }, () => rig.post("/sign-in", { name: "Ada", password: "wrong" })),
    );
    const statuses = tries.map(({ status }) => status);
    expect(statuses.filter((status) => status === 403)).toHaveLength(atOnce);
    expect(statuses.filter((status) => status === 429)).toHaveLength(5);
    const refused = await rig.post("/sign-in", { name: "Ada", password: PASSWORD });
    expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "6"]);
    await rig.clock.advance(refillMs);
    expect((await rig.post("/sign-in", { name: "Ada", password: PASSWORD })).status).toBe(200);
    const entries = (await rig.entries()).filter(({ act }) => act === "signIn");
    expect(new Set(entries.map(({ result }) => result))).toEqual(new Set(["Denied", "Busy", "done"]));
    expect(entries.find(({ result }) => result === "Denied")).toMatchObject({
      who: { kind: "unauthenticated", address: expect.stringContaining("127.0.0.1") },
      object: "Ada",
    });
  });

  test("say nothing about whether there is such a name", async () => {
    const rig = await ConsoleRig.open();
    await rig.security.people.add("Ada", "admin", PASSWORD);
    await rig.security.people.add("Carl", "user");
    const answers = await Promise.all(
      ["Ada", "Carl", "nobody", ""].map((name) => rig.post("/sign-in", { name, password: "wrong" })),
    );
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  });

  test("of the password of before count as well", async () => {
    const rig = await ConsoleRig.open();
    const page = await rig.page(await rig.signedIn("Ada", "admin"));
    for (let time = 0; time < SIGN_IN_TRIES.network.atOnce; time += 1)
      expect(await page.kindOf("setPassword", { before: "wrong", password: "another password" })).toBe("Denied");
    expect(await page.kindOf("setPassword", { before: PASSWORD, password: "another password" })).toBe("Busy");
  });
});

test("requests that strangers leave unfinished are bounded, and lock nobody out", async () => {
  const rig = await ConsoleRig.open();
  await rig.security.people.add("Ada", "admin", PASSWORD);
  const headers = { origin: rig.origin, "content-type": "application/json", "content-length": "60000" };
  const stuck = Array.from({ length: 2 * CONSOLE_LIMITS.requests }, () =>
    rig.ask("/sign-in", { method: "POST", headers, body: "{" }).then(
      () => "answered",
      () => "dropped",
    ),
  );
  // Some are dropped by chance, before a newcomer comes.
  await Promise.race(stuck);
  const cookie = cookieOf(await rig.post("/sign-in", { name: "Ada", password: PASSWORD }));
  expect((await (await rig.page(cookie)).ask("whoAmI", {})).name).toBe("Ada");
  await rig.clock.advance(CONSOLE_LIMITS.answerMs);
  expect(new Set(await Promise.all(stuck))).toEqual(new Set(["dropped"]));
});
