// The console in a real browser, with the product's server, agent and drive: each test looks at the page and at the
// disk.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { askServer } from "@runnel/server/admin";
import { qrPath } from "@runnel/shared/ui/qr-path.ts";
import type { Locator, Page } from "playwright-core";
import { barriers } from "../src/browser/axe.ts";
import { type OpenPage, TestBrowser } from "../src/browser/browser.ts";
import { type Device, onMount, refusalOf, run, Sandbox, type ServerProcess, waitFor } from "../src/harness/index.ts";

/** Folders to choose from: more than come with one answer. */
const CHOICES = 1_200;
const IN_PAGE_MAX = 300;
/** A browser beside other tests is slow. */
const SHOWN_MS = 20_000;
const TEST_MS = 120_000;
const PASSWORD = "a long password of ada";
/** Invites beside the one of before: more than two pages of a table. */
const MANY = 300;
const PLACES = ["Overview", "Volumes", "People and devices", "Live", "Audit", "Settings", "My account"];

let browser: TestBrowser;
let sandbox: Sandbox;
let server: ServerProcess;
let device: Device;
let offered: string;
/** Ada's page: she is the administrator. */
let ada: OpenPage;

beforeAll(async () => {
  sandbox = new Sandbox();
  offered = sandbox.makeFolder("offered");
  sandbox.makeFolder("offered", "plans");
  device = sandbox.device();
  const started = sandbox.startServer({ volumes: {}, listen: "0.0.0.0:0", args: ["--offer", offered] });
  [browser, server] = await Promise.all([TestBrowser.start(), started]);
}, TEST_MS);

afterAll(async () => {
  await browser.close();
  await sandbox.cleanup();
}, TEST_MS);

const at = (path: string): string => `https://127.0.0.1:${server.port}${path}`;

/** The link that the server printed, at an address that this machine knows for sure. */
const setUpPath = (): string => `/${new URL(server.console?.setUpLink ?? server.url).hash}`;

async function go(page: Page, place: string): Promise<void> {
  await page.getByRole("navigation", { name: "Places" }).getByRole("link", { name: place }).click();
  await page.getByRole("heading", { level: 1, name: place }).waitFor({ timeout: SHOWN_MS });
}

async function signIn(page: Page, name: string, password: string): Promise<void> {
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** Makes an invite as whoever runs the server. */
async function inviteFor(person: string): Promise<string> {
  const asked = {
    volume: "plans",
    isReadOnly: false,
    person,
    lastsMs: 86_400_000,
    address: `127.0.0.1:${server.port}`,
  };
  return (await askServer(sandbox.path("data"), "invite", asked)).invite;
}

// The tests follow one another, as the life of a server does.
describe("the console", () => {
  test(
    "whoever has the printed link makes the administrator, once, and is in; others are told what to do",
    async () => {
      const first = await browser.open(at("/"));
      await signIn(first.page, "ada", PASSWORD);
      await first.page.getByText("Nobody has set up this console.").waitFor({ timeout: SHOWN_MS });

      ada = await browser.open(at(setUpPath()));
      expect(new URL(ada.page.url()).hash).toBe("");
      await ada.page.getByLabel("Your name").fill("ada");
      await ada.page.getByLabel("New password").fill(PASSWORD);
      expect(await barriers(ada.page)).toEqual([]);
      await ada.page.getByRole("button", { name: "Make the administrator" }).click();
      await ada.page.getByRole("heading", { level: 1, name: "Overview" }).waitFor({ timeout: SHOWN_MS });

      const late = await browser.open(at(setUpPath()));
      await late.page.getByLabel("Your name").fill("mallory");
      await late.page.getByLabel("New password").fill("another long password");
      await late.page.getByRole("button", { name: "Make the administrator" }).click();
      await late.page.getByText("The console is set up already. Sign in.").waitFor({ timeout: SHOWN_MS });
      expect(ada.complaints).toEqual([]);
    },
    TEST_MS,
  );

  test(
    "a volume is made of an offered folder and mapped by an invite from the page; revoked, its drive stops",
    async () => {
      const { page, complaints } = ada;
      await go(page, "Volumes");
      await page.getByRole("main").getByRole("button", { name: "Make a volume" }).first().click();
      const making = page.getByRole("dialog");
      await making.getByRole("button", { name: offered }).click();
      await making.getByRole("button", { name: "plans" }).click();
      await making.getByText("No folders in here").waitFor({ timeout: SHOWN_MS });
      await making.getByRole("button", { name: "Make a volume" }).click();
      await page.getByRole("table").getByRole("link", { name: "plans" }).click();

      await page.getByRole("button", { name: "Make an invite" }).click();
      await page.getByLabel("For whom").fill("grace");
      await page.getByRole("dialog").getByRole("button", { name: "Make an invite" }).click();
      await page.getByRole("img", { name: "The invite as a QR code" }).waitFor({ timeout: SHOWN_MS });
      expect(await barriers(page)).toEqual([]);
      const invite = await page.getByLabel("Invite", { exact: true }).inputValue();
      expect(await page.getByLabel("Command", { exact: true }).inputValue()).toBe(`runnel login '${invite}'`);
      expect(await page.locator("svg.qr path").getAttribute("d")).toBe(qrPath(invite).path);
      await page.getByRole("button", { name: "Done" }).click();

      const drive = sandbox.makeFolder("drive");
      const { url } = await device.ask(["login", invite]);
      await device.mount(String(url), drive);
      await run("sh", ["-c", 'printf "a roof" > "$1/roof.txt"', "sh", drive]);
      await device.flush(drive, { up: true });
      expect(readFileSync(join(offered, "plans", "roof.txt"), "utf8")).toBe("a roof");
      await page.reload();
      await page.getByRole("cell", { name: "roof.txt" }).waitFor({ timeout: SHOWN_MS });

      await page.getByRole("link", { name: "Who has access" }).click();
      await page.getByRole("cell", { name: "Connected", exact: true }).waitFor({ timeout: SHOWN_MS });
      await page.getByRole("button", { name: /^Actions for/ }).click();
      await page.getByRole("menuitem", { name: "Revoke access" }).click();
      const asking = page.getByRole("alertdialog");
      await asking.getByText(/of grace loses access to every volume and is disconnected now/).waitFor();
      await asking.getByRole("button", { name: "Revoke access" }).click();
      await page.getByText("No devices yet").waitFor({ timeout: SHOWN_MS });
      await go(page, "People and devices");
      await page.getByRole("link", { name: "Devices", exact: true }).click();
      await page.getByRole("cell", { name: /^Revoked/ }).waitFor({ timeout: SHOWN_MS });

      // Another program's file does not come to a drive that has lost its access.
      await run("sh", ["-c", 'printf "a wall" > "$1/wall.txt"', "sh", join(offered, "plans")]);
      const isWithdrawn = async (): Promise<boolean> =>
        JSON.stringify((await device.status())["mounts"]).includes("withdrawn");
      await waitFor(isWithdrawn, SHOWN_MS, "the drive that says why");
      expect((await run("cat", [join(drive, "wall.txt")])).code).not.toBe(0);
      expect(existsSync(join(offered, "plans", "roof.txt"))).toBe(true);
      expect(complaints).toEqual([]);
    },
    TEST_MS,
  );

  test(
    "of a long folder to choose from only what is seen is in the page, and its last folder is chosen by keyboard",
    async () => {
      for (let number = 0; number < CHOICES; number++)
        sandbox.makeFolder("offered", "many", `folder-${String(number).padStart(5, "0")}`);
      const { page, complaints } = ada;
      await go(page, "Volumes");
      await page.getByRole("main").getByRole("button", { name: "Make a volume" }).first().click();
      const making = page.getByRole("dialog");
      await making.getByRole("button", { name: offered }).click();
      await making.getByRole("button", { name: "many" }).click();
      await making.getByRole("button", { name: "folder-00000" }).waitFor({ timeout: SHOWN_MS });
      const folders = making.getByRole("button", { name: /^folder-/ });
      expect(await folders.count()).toBeLessThanOrEqual(IN_PAGE_MAX);
      expect(await making.getByRole("grid", { name: "Folder" }).getAttribute("aria-rowcount")).toBe(String(CHOICES));
      expect(await barriers(page)).toEqual([]);
      await folders.first().focus();
      await page.keyboard.press("End");
      const last = `folder-${String(CHOICES - 1).padStart(5, "0")}`;
      await page.locator(":focus", { hasText: last }).waitFor({ timeout: SHOWN_MS });
      expect(await folders.count()).toBeLessThanOrEqual(IN_PAGE_MAX);
      await page.keyboard.press("Enter");
      await making.getByText("No folders in here").waitFor({ timeout: SHOWN_MS });
      expect(await making.getByLabel("Name").inputValue()).toBe(last);
      await making.getByRole("button", { name: "Cancel" }).click();
      expect(complaints).toEqual([]);
    },
    TEST_MS,
  );

  test(
    "every view is open to all, and shows no error",
    async () => {
      const { page, complaints } = ada;
      for (const place of PLACES) {
        await go(page, place);
        await page.waitForLoadState("networkidle");
        expect({ place, barriers: await barriers(page) }).toEqual({ place, barriers: [] });
        expect(await page.getByRole("alert").count()).toBe(0);
      }
      expect(complaints).toEqual([]);
    },
    TEST_MS,
  );

  test(
    "the audit log is filtered by the address, and saved as CSV",
    async () => {
      const { page } = await browser.openBeside(ada.page, at("/audit?act=revoke"));
      await page.getByRole("cell", { name: "Revocation" }).waitFor({ timeout: SHOWN_MS });
      expect(await page.getByRole("cell", { name: "New invite" }).count()).toBe(0);
      await page.getByLabel("Any act").selectOption({ label: "New invite" });
      await page.getByRole("cell", { name: "New invite" }).waitFor({ timeout: SHOWN_MS });
      expect(new URL(page.url()).search).toBe("?act=invite");
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "Save as CSV" }).click(),
      ]);
      const csv = readFileSync(await download.path(), "utf8");
      expect(csv.split("\r\n")).toHaveLength(3);
      expect(csv).toContain("plans");
      await page.close();
    },
    TEST_MS,
  );

  test(
    "a list of 300 draws one page of it, and its pages are turned by keys",
    async () => {
      const invite = { volume: "plans", isReadOnly: true, person: "", lastsMs: 86_400_000 };
      for (let made = 0; made < MANY; made++) await askServer(sandbox.path("data"), "invite", invite);
      const { page } = await browser.openBeside(ada.page, at("/people/invites"));
      const rows = page.locator("tbody tr");
      const range = (words: string): Promise<void> =>
        page.getByRole("status").filter({ hasText: words }).waitFor({ timeout: SHOWN_MS });
      await range("1 to 250 of 301");
      expect(await rows.count()).toBe(250);
      const first = await rows.first().innerText();
      const next = page.getByRole("button", { name: "Next" });
      await next.focus();
      await page.keyboard.press("Enter");
      await range("251 to 301 of 301");
      expect(await rows.count()).toBe(51);
      // It leads nowhere now, and keeps the focus.
      await page.keyboard.press("Enter");
      expect(await next.getAttribute("aria-disabled")).toBe("true");
      expect(await page.locator("button:focus").innerText()).toBe("Next");
      expect(await barriers(page)).toEqual([]);
      const previous = page.getByRole("button", { name: "Previous" });
      await previous.press("Enter");
      await range("1 to 250");
      expect(await rows.first().innerText()).toBe(first);

      await page.goto(at("/audit?act=invite"));
      const older = page.getByRole("button", { name: "Older entries" });
      for (const button of [older, older, page.getByRole("button", { name: "Newer entries" })]) {
        await rows.nth(99).waitFor({ timeout: SHOWN_MS });
        const top = await rows.first().innerText();
        await button.press("Enter");
        await waitFor(async () => (await rows.first().innerText()) !== top, SHOWN_MS, "another page");
        expect(await rows.count()).toBe(100);
      }
      // A part of a name is enough, in large letters or small ones.
      await page.goto(at("/audit?act=setUp&who=AD"));
      await page.getByRole("cell", { name: "Set-up of the console" }).first().waitFor({ timeout: SHOWN_MS });
      await page.getByLabel("Person, device or address").fill("Adam");
      await page.getByText("Nothing matches").waitFor({ timeout: SHOWN_MS });
      await page.close();
    },
    TEST_MS,
  );

  test(
    "a user sees the own volumes and devices only; two tabs are of one session and end together",
    async () => {
      const { page } = ada;
      await go(page, "People and devices");
      await page.getByRole("button", { name: "Add a person" }).first().click();
      const adding = page.getByRole("dialog");
      await adding.getByLabel("Name").fill("grace");
      await adding.getByLabel("Password (optional)").fill("a long password of grace");
      await adding.getByRole("button", { name: "Add a person" }).click();
      await page.getByRole("table").getByRole("link", { name: "grace" }).waitFor({ timeout: SHOWN_MS });

      const grace = await browser.open(at("/audit"));
      await signIn(grace.page, "grace", "a long password of grace");
      await grace.page.getByRole("heading", { level: 1, name: "Volumes" }).waitFor({ timeout: SHOWN_MS });
      const places = grace.page.getByRole("navigation", { name: "Places" }).getByRole("link");
      expect(await places.allInnerTexts()).toEqual(["Volumes", "My account"]);
      expect(await barriers(grace.page)).toEqual([]);

      const beside = await browser.openBeside(grace.page, at("/account"));
      await beside.page.getByRole("cell", { name: /^Revoked/ }).waitFor({ timeout: SHOWN_MS });
      expect(await barriers(beside.page)).toEqual([]);
      await grace.page.getByRole("button", { name: /^Account:/ }).click();
      await grace.page.getByRole("menuitem", { name: "Sign out" }).click();
      await grace.page.getByText("You are signed out.").waitFor({ timeout: SHOWN_MS });
      await beside.page.getByText("Your session has ended.").waitFor({ timeout: SHOWN_MS });
    },
    TEST_MS,
  );

  test(
    "what goes on is shown, and who waits for whom; a right that is changed and an invite that is withdrawn hold",
    async () => {
      const { page, complaints } = await browser.openBeside(ada.page, at("/live"));
      const table = page.getByRole("table");
      const rowOf = (text: string): Locator => table.getByRole("row").filter({ hasText: text });
      const [one, other] = [sandbox.device("one"), sandbox.device("other")];
      const [here, there] = [sandbox.makeFolder("here"), sandbox.makeFolder("there")];
      for (const [each, name, folder] of [
        [one, "laptop-of-ben", here],
        [other, "desk-of-eve", there],
      ] as const) {
        await each.ask(["login", await inviteFor(name), "--name", name]);
        await each.mount(`wss://127.0.0.1:${server.port}/plans`, folder);
      }
      await onMount('echo first > "$1/report.txt"', [here]);
      // Both follow its folder now.
      for (const folder of [here, there]) await onMount('ls "$1"; cat "$1/report.txt"', [folder]);
      await rowOf("laptop-of-ben").filter({ hasText: "plans" }).waitFor({ timeout: SHOWN_MS });
      expect(await rowOf("desk-of-eve").innerText()).toContain("127.0.0.1");
      await page.goto(at("/live/files"));
      await rowOf("report.txt").filter({ hasText: "desk-of-eve" }).waitFor({ timeout: SHOWN_MS });

      await page.goto(at("/live/leases"));
      await rowOf("desk-of-eve").filter({ hasText: "Nobody" }).waitFor({ timeout: SHOWN_MS });
      const asleep = other.agentPid();
      process.kill(asleep, "SIGSTOP");
      try {
        const saving = onMount('echo second > "$1/report.txt"', [here]);
        await page.getByText(/^laptop-of-ben waits for desk-of-eve, for/).waitFor({ timeout: SHOWN_MS });
        await rowOf("desk-of-eve").filter({ hasText: "laptop-of-ben" }).waitFor({ timeout: SHOWN_MS });
        process.kill(asleep, "SIGCONT");
        await saving;
      } finally {
        process.kill(asleep, "SIGCONT");
      }
      await page.getByText("Changes that wait").waitFor({ state: "detached", timeout: SHOWN_MS });

      await page.goto(at("/people/devices"));
      expect(await rowOf("desk-of-eve").innerText()).toMatch(/\bnow\b/);
      await page.getByRole("button", { name: "Actions for desk-of-eve" }).click();
      await page.getByRole("menuitem", { name: "Change rights" }).click();
      await page.getByRole("dialog").getByLabel("plans").selectOption({ label: "Read only" });
      await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
      await rowOf("desk-of-eve").filter({ hasText: "plans, read only" }).waitFor({ timeout: SHOWN_MS });
      const touched = async (): Promise<boolean> => (await run("touch", [join(there, "new.txt")])).code === 0;
      await waitFor(async () => !(await touched()), SHOWN_MS, "a drive that is read only");
      expect((await run("cat", [join(there, "report.txt")])).stdout).toBe("second\n");
      expect((await run("touch", [join(here, "other.txt")])).code).toBe(0);

      const invite = await inviteFor("nina");
      await page.goto(at("/people/invites?q=nina"));
      await rowOf("nina").getByRole("button", { name: "Withdraw" }).click();
      await page.getByRole("alertdialog").getByRole("button", { name: "Withdraw" }).click();
      await page.getByText("Nothing matches").waitFor({ timeout: SHOWN_MS });
      expect(refusalOf(await one.runnel(["login", invite, "--json"]))).toMatchObject({ kind: "Denied" });

      await other.unmount(there);
      await page.goto(at("/people/devices"));
      const seen = rowOf("desk-of-eve").filter({ hasText: "Not connected" });
      await waitFor(
        async () => {
          await page.reload();
          await rowOf("desk-of-eve").waitFor({ timeout: SHOWN_MS });
          return (await seen.count()) === 1;
        },
        SHOWN_MS,
        "the device to be gone",
      );
      // Beside the time at which it was added.
      expect(await seen.locator("time").count()).toBe(2);
      await one.unmount(here);
      expect(complaints).toEqual([]);
      await page.close();
    },
    TEST_MS,
  );

  test(
    "a password is taken away from a person, and a person removed whose device keeps its right",
    async () => {
      const { page } = await browser.openBeside(ada.page, at("/person/grace"));
      await page.getByText("Signs in with a password").waitFor({ timeout: SHOWN_MS });
      await page.getByRole("button", { name: "Take password away" }).click();
      await page.getByRole("alertdialog").getByRole("button", { name: "Take password away" }).click();
      await page.getByText("Cannot sign in").first().waitFor({ timeout: SHOWN_MS });
      const grace = await browser.open(at("/"));
      await signIn(grace.page, "grace", "a long password of grace");
      await grace.page.getByText("Name or password is wrong. Try again.").waitFor({ timeout: SHOWN_MS });

      await page.goto(at("/people"));
      await page.getByRole("button", { name: "Add a person" }).first().click();
      await page.getByRole("dialog").getByLabel("Name").fill("desk-of-eve");
      await page.getByRole("dialog").getByRole("button", { name: "Add a person" }).click();
      await page.getByRole("table").getByRole("link", { name: "desk-of-eve" }).click();
      await page.getByRole("button", { name: "Remove", exact: true }).click();
      const asking = page.getByRole("alertdialog");
      await asking.getByLabel("Revoke the access of the device: its drives stop").uncheck();
      expect(await barriers(page)).toEqual([]);
      await asking.getByRole("button", { name: "Remove", exact: true }).click();
      await page.getByRole("heading", { level: 1, name: "People and devices" }).waitFor({ timeout: SHOWN_MS });
      expect(await page.getByRole("link", { name: "desk-of-eve" }).count()).toBe(0);
      const { devices } = await askServer(sandbox.path("data"), "devices", {});
      expect(devices.find(({ name }) => name === "desk-of-eve")).toMatchObject({
        revokedMs: null,
        volumes: [{ name: "plans", isReadOnly: true }],
      });
      await page.close();
    },
    TEST_MS,
  );

  test(
    "of a volume that is stopped, and of what is not known, no figure is shown",
    async () => {
      const { page } = ada;
      await go(page, "Volumes");
      await page.getByRole("button", { name: "Actions for plans" }).click();
      await page.getByRole("menuitem", { name: "Stop serving" }).click();
      await page.getByRole("alertdialog").getByRole("button", { name: "Stop serving" }).click();
      const main = page.getByRole("main");
      for (const place of ["Volumes", "Overview"]) {
        await go(page, place);
        await main.getByText("Stopped by an administrator.").first().waitFor({ timeout: SHOWN_MS });
        expect(await main.getByText(/\b0 bytes/).allInnerTexts()).toEqual([]);
      }
    },
    TEST_MS,
  );

  test(
    "in the dark a view can be used by all",
    async () => {
      const dark = await browser.open(at("/"), "dark");
      await signIn(dark.page, "ada", PASSWORD);
      // All of them in the dark are in the long run (looks).
      for (const place of ["Overview", "Audit"]) {
        await go(dark.page, place);
        await dark.page.waitForLoadState("networkidle");
        expect({ place, barriers: await barriers(dark.page) }).toEqual({ place, barriers: [] });
      }
      expect(dark.complaints).toEqual([]);
    },
    TEST_MS,
  );

  test(
    "a wrong password is refused, and after many of them every one for a while",
    async () => {
      const { page } = await browser.open(at("/"));
      await signIn(page, "ada", "not her password");
      await page.getByText("Name or password is wrong. Try again.").waitFor({ timeout: SHOWN_MS });
      expect(await barriers(page)).toEqual([]);
      const tooMany = page.getByText(/Too many/);
      for (let tries = 0; tries < 15 && (await tooMany.count()) === 0; tries++) {
        await signIn(page, "ada", "not her password");
        await page.getByRole("button", { name: "Sign in", disabled: false }).waitFor({ timeout: SHOWN_MS });
      }
      await tooMany.waitFor({ timeout: SHOWN_MS });
      // The administrator is in, and stays in.
      await go(ada.page, "Overview");
    },
    TEST_MS,
  );
});
