// The agent's window in a real browser, with the product's server, agent and drive: each test looks at the page and at
// the disk.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { TestBrowser } from "../src/browser/browser.ts";
import { type Device, run, Sandbox, type ServerProcess, waitFor } from "../src/harness/index.ts";

/** A browser beside other tests is slow. */
const SHOWN_MS = 20_000;
const TEST_MS = 120_000;

let browser: TestBrowser;
let sandbox: Sandbox;
let device: Device;
let server: ServerProcess;
let served: string;

beforeAll(async () => {
  browser = await TestBrowser.start();
}, TEST_MS);

afterAll(() => browser.close());

beforeEach(async () => {
  sandbox = new Sandbox();
  device = sandbox.device();
  served = sandbox.makeFolder("served");
  server = await sandbox.startServer({ volumes: { docs: served } });
}, TEST_MS);

afterEach(() => sandbox.cleanup(), 60_000);

async function link(): Promise<string> {
  const { page } = (await device.ask(["ui", "--print"])) as { page: { link: string } };
  return page.link;
}

test(
  "a drive is added, shows what is saved, and is unmounted; nothing complains",
  async () => {
    const drive = sandbox.makeFolder("drive");
    const { page, complaints } = await browser.open(await link());
    // The ticket is good once, and does not stay in the address.
    await page.getByText("No drive is mapped").waitFor({ timeout: SHOWN_MS });
    expect(new URL(page.url()).hash).toBe("");

    await page.getByRole("main").getByRole("link", { name: "Add a drive" }).click();
    await page.getByRole("button", { name: "Map the drive" }).click();
    await page.getByText("Paste the invite or the address that you were given.").waitFor({ timeout: SHOWN_MS });
    await page.getByLabel("Invite or address").fill(`${server.url}/docs`);
    await page.getByLabel("Where it appears").fill(drive);
    await page.getByRole("button", { name: "Map the drive" }).click();
    await page.getByText("drive is there.").waitFor({ timeout: SHOWN_MS });

    await run("sh", ["-c", 'printf "written" > "$1/note.txt"', "sh", drive]);
    await device.ask(["flush", drive, "--applied"]);
    expect(readFileSync(join(served, "note.txt"), "utf8")).toBe("written");
    await page.getByRole("navigation").getByRole("link", { name: "Home" }).click();
    await page.getByText("Everything is saved on the server.").first().waitFor({ timeout: SHOWN_MS });
    await page.getByText("You may switch off: nothing waits to be sent.").waitFor({ timeout: SHOWN_MS });

    await page.getByRole("button", { name: "Actions for drive" }).click();
    await page.getByRole("menuitem", { name: "Pause for one hour" }).click();
    await page.getByRole("heading", { name: /^Paused until / }).waitFor({ timeout: SHOWN_MS });
    expect((await run("touch", [join(drive, "refused")])).stderr).toMatch(/Read-only file system/);
    await page.getByRole("button", { name: "Actions for drive" }).click();
    await page.getByRole("menuitem", { name: "Resume" }).click();
    await page.getByRole("heading", { name: "Everything is saved on the server." }).waitFor({ timeout: SHOWN_MS });

    await page.getByRole("button", { name: "Actions for drive" }).click();
    await page.getByRole("menuitem", { name: "Unmount" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Unmount" }).click();
    await page.getByText("No drive is mapped").waitFor({ timeout: SHOWN_MS });
    expect((await run("stat", [join(drive, "note.txt")])).code).toBe(1);
    expect(existsSync(join(served, "note.txt"))).toBe(true);
    expect(complaints).toEqual([]);
  },
  TEST_MS,
);

test(
  "what was saved is told as sentence, table and file; an error is told, and the page finds the agent again",
  async () => {
    const drive = sandbox.makeFolder("drive");
    await device.mount(`${server.url}/docs`, drive);
    writeFileSync(join(served, "big"), Buffer.alloc(300_000, "text "));
    await run("sh", ["-c", 'until cat "$1/big" > /dev/null; do sleep 0.1; done', "sh", drive], {
      deadlineMs: SHOWN_MS,
    });
    const { page } = await browser.open(await link());
    await page.getByRole("navigation").getByRole("link", { name: "Savings" }).click();
    await page.getByText(/^Today you worked with 293 KB/).waitFor({ timeout: SHOWN_MS });
    await page.getByText("The same as a table").click();
    expect(await page.locator("table tbody tr").count()).toBeGreaterThan(0);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save as CSV" }).click(),
    ]);
    expect(readFileSync(await download.path(), "utf8")).toMatch(/^hour,server,drive,folder,read,written,/);

    await page.getByRole("navigation").getByRole("link", { name: "Add a drive" }).click();
    await page.getByLabel("Invite or address").fill(`${server.url}/docs`);
    await page.getByLabel("Where it appears").fill(join(sandbox.folder, "missing"));
    await page.getByRole("button", { name: "Map the drive" }).click();
    await page.getByText(/missing does not exist/).waitFor({ timeout: SHOWN_MS });

    // The page of an agent that has ended is told so, and does not ask for ever.
    await device.ask(["stop"]);
    await page.getByText("This page has ended.").waitFor({ timeout: SHOWN_MS });
  },
  TEST_MS,
);

test(
  "a conflict names both files and when, and opens either",
  async () => {
    // Stands in for the program that opens files: it writes down what it is given.
    const bin = sandbox.makeFolder("bin");
    writeFileSync(join(bin, "xdg-open"), `#!/bin/sh\necho "$1" >> '${bin}/opened'\n`, { mode: 0o755 });
    const env = { PATH: `${bin}:${process.env["PATH"]}` };
    const opened = (): string[] => {
      const path = join(bin, "opened");
      return existsSync(path) ? readFileSync(path, "utf8").split("\n") : [];
    };
    const [here, elsewhere] = [sandbox.device("here", env), sandbox.device("elsewhere")];
    const [drive, theirs] = [sandbox.makeFolder("drive"), sandbox.makeFolder("theirs")];
    await here.mount(`${server.url}/docs`, drive);
    await elsewhere.mount(`${server.url}/docs`, theirs);
    await run("sh", ["-c", 'echo base > "$1/report.txt"', "sh", drive]);
    // A program that holds the file open while the other one replaces it.
    const script = `exec 3<>"$1/report.txt"
until grep -q base "$2/report.txt"; do sleep 0.1; done
echo theirs > "$2/other"; mv "$2/other" "$2/report.txt"
until grep -q theirs "$1/report.txt"; do sleep 0.1; done
echo mine >&3; exec 3>&-`;
    await run("bash", ["-c", script, "bash", drive, theirs], { deadlineMs: SHOWN_MS });
    const { page: shown } = (await here.ask(["ui", "--print"])) as { page: { link: string } };
    const { page, complaints } = await browser.open(shown.link);
    await page.getByRole("navigation").getByRole("link", { name: "Conflicts" }).click();
    const { mounts } = (await here.status()) as {
      mounts: { conflicts: { path: string; conflictCopy: string | null }[] }[];
    };
    const [conflict] = mounts[0]?.conflicts ?? [];
    expect(conflict).toBeDefined();
    await page.getByText("drive/report.txt was changed in two places").waitFor({ timeout: SHOWN_MS });
    expect(await page.getByRole("main").locator("time").count()).toBe(1);
    const menu = page.getByRole("button", { name: /^Actions for drive/ });
    await menu.click();
    await page.getByRole("menuitem", { name: "Open it" }).click();
    await waitFor(() => opened().includes(join(drive, "report.txt")), SHOWN_MS, "the file to be opened");
    if (typeof conflict?.conflictCopy === "string") {
      await menu.click();
      await page.getByRole("menuitem", { name: "Open the other" }).click();
      const other = join(drive, conflict.conflictCopy);
      await waitFor(() => opened().includes(other), SHOWN_MS, "the other file to be opened");
    }
    await menu.click();
    await page.getByRole("menuitem", { name: "Show both in their folder" }).click();
    await waitFor(() => opened().includes(drive), SHOWN_MS, "the folder to be opened");
    await menu.click();
    await page.getByRole("menuitem", { name: "I have seen to it" }).click();
    await page.getByText("No conflicts").waitFor({ timeout: SHOWN_MS });
    expect(complaints).toEqual([]);
  },
  TEST_MS,
);

test(
  "settings hold over a restart of the agent: the space of a drive, and that it comes back; a server is forgotten",
  async () => {
    const drive = sandbox.makeFolder("drive");
    await device.mount(`${server.url}/docs`, drive);
    const { invite } = await sandbox.device("admin").ask(["invite", "docs", "--data", sandbox.path("data")]);
    await device.ask(["login", String(invite)]);
    const { page, complaints } = await browser.open(await link());
    await page.getByRole("navigation").getByRole("link", { name: "Settings" }).click();
    const form = page.getByRole("form", { name: "drive" });
    await form.getByLabel("Space for cached files, in GB").fill("much");
    await form.getByRole("button", { name: "Save" }).click();
    await page.getByText("Type a number of GB").waitFor({ timeout: SHOWN_MS });
    await form.getByLabel("Space for cached files, in GB").fill("1.5");
    await form.getByLabel("Map it again when Runnel starts").check();
    await form.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.", { exact: true }).waitFor({ timeout: SHOWN_MS });

    await page.getByRole("button", { name: "Forget" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Forget" }).click();
    await page.getByText("None yet. An invite makes this computer known to one.").waitFor({ timeout: SHOWN_MS });
    expect(await device.ask(["servers"])).toEqual({ servers: [] });
    expect(complaints).toEqual([]);

    await device.ask(["stop"]);
    expect((await run("stat", [join(drive, "note.txt")])).code).toBe(1);
    expect(await device.ask(["reconnect"])).toMatchObject({ mapped: [{ mountpoint: drive }], failed: [] });
    writeFileSync(join(served, "note.txt"), "here");
    await run("sh", ["-c", 'until cat "$1/note.txt"; do sleep 0.1; done', "sh", drive], { deadlineMs: SHOWN_MS });
    expect(await device.status()).toMatchObject({ mounts: [{ cacheLimitBytes: 1.5 * 1024 ** 3, isKept: true }] });
  },
  TEST_MS,
);

test(
  "a ticket that was used opens nothing",
  async () => {
    const used = await link();
    const first = await browser.open(used);
    await first.page.getByText("No drive is mapped").waitFor({ timeout: SHOWN_MS });
    const second = await browser.open(used);
    await second.page.getByText("This page has ended.").waitFor({ timeout: SHOWN_MS });
    expect(await second.page.getByText("No drive is mapped").count()).toBe(0);
  },
  TEST_MS,
);

test(
  "an invite makes this machine known, under the name that is typed, and maps the drive",
  async () => {
    const drive = sandbox.makeFolder("drive");
    const { invite } = await sandbox.device("admin").ask(["invite", "docs", "--data", sandbox.path("data")]);
    const { page } = await browser.open(await link());
    await page.getByRole("navigation").getByRole("link", { name: "Add a drive" }).click();
    await page.getByLabel("Invite or address").fill(String(invite));
    await page.getByLabel("Name of this machine").fill("Ada's desk");
    await page.getByLabel("Where it appears").fill(drive);
    await page.getByRole("button", { name: "Map the drive" }).click();
    await page.getByText("drive is there.").waitFor({ timeout: SHOWN_MS });
    writeFileSync(join(served, "from-there"), "here");
    await run("sh", ["-c", 'until cat "$1/from-there"; do sleep 0.1; done', "sh", drive], { deadlineMs: SHOWN_MS });
    const devices = await sandbox.device("admin").ask(["devices", "--data", sandbox.path("data")]);
    expect(JSON.stringify(devices)).toContain("Ada's desk");
  },
  TEST_MS,
);
