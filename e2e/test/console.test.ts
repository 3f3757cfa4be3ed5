// The console in a real browser, with the product's server, agent and drive: each test looks at the page and at the
// disk.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { askServer } from "@runnel/server/admin";
import type { Page } from "playwright-core";
import { barriers } from "../src/browser/axe.ts";
import { type OpenPage, TestBrowser } from "../src/browser/browser.ts";
import { type Device, run, Sandbox, type ServerProcess, waitFor } from "../src/harness/index.ts";

/** A browser beside other tests is slow. */
const SHOWN_MS = 20_000;
const TEST_MS = 120_000;
const PASSWORD = "a long password of ada";
/** Invites beside the one of before: more than two pages of a table. */
const MANY = 600;

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
    "every view is open to all, and shows no error",
    async () => {
      const { page, complaints } = ada;
      for (const place of ["Overview", "Volumes", "People and devices", "Live", "Audit", "Settings", "My account"]) {
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
    "a list of 600 draws one page of it, and its pages are turned by keys",
    async () => {
      const invite = { volume: "plans", isReadOnly: true, person: "", lastsMs: 86_400_000 };
      for (let made = 0; made < MANY; made++) await askServer(sandbox.path("data"), "invite", invite);
      const { page } = await browser.openBeside(ada.page, at("/people/invites"));
      const rows = page.locator("tbody tr");
      const range = (words: string): Promise<void> =>
        page.getByRole("status").filter({ hasText: words }).waitFor({ timeout: SHOWN_MS });
      await range("1 to 250 of 601");
      expect(await rows.count()).toBe(250);
      const first = await rows.first().innerText();
      const next = page.getByRole("button", { name: "Next" });
      await next.focus();
      await page.keyboard.press("Enter");
      await range("251 to 500 of 601");
      await page.keyboard.press("Enter");
      await range("501 to 601 of 601");
      expect(await rows.count()).toBe(101);
      // It leads nowhere now, and keeps the focus.
      await page.keyboard.press("Enter");
      expect(await next.getAttribute("aria-disabled")).toBe("true");
      expect(await page.locator("button:focus").innerText()).toBe("Next");
      expect(await barriers(page)).toEqual([]);
      const previous = page.getByRole("button", { name: "Previous" });
      for (const words of ["251 to 500", "1 to 250"]) {
        await previous.press("Enter");
        await range(words);
      }
      expect(await rows.first().innerText()).toBe(first);
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
