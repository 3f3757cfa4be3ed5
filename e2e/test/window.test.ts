// The agent's window in a real browser, with the product's server, agent and drive: each test looks at the page and at
// the disk.
import { existsSync, mkdirSync, readFileSync, rmSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { TestBrowser } from "../src/browser/browser.ts";
import type { Page } from "playwright-core";
import {
  type Device,
  changeDatabase,
  noise,
  onMount,
  quiet,
  run,
  Sandbox,
  type ServerProcess,
  waitFor,
} from "../src/harness/index.ts";

/** A browser beside other tests is slow. */
const SHOWN_MS = 20_000;
const TEST_MS = 120_000;
const MB = 1_000_000;
const MIB = 1024 ** 2;
const UNITS = { bytes: 1, KB: 1024, MB: 1024 ** 2 };

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

afterEach(() => sandbox.cleanup(), 120_000);

async function link(): Promise<string> {
  const { page } = (await device.ask(["ui", "--print"])) as { page: { link: string } };
  return page.link;
}

/** Returns the bytes that a size stands for, as a page writes it. */
function bytesOf(size: string): number {
  const [value = "", unit = ""] = size.split(" ");
  return Number(value.replaceAll(",", "")) * (UNITS[unit as keyof typeof UNITS] ?? Number.NaN);
}

/** Counts the pixels of the chart that have the colour of a series. */
function barPixels(page: Page): Promise<number> {
  return page.evaluate<number>(`(() => {
    const colour = getComputedStyle(document.querySelector(".legend .sample")).backgroundColor;
    const [red, green, blue] = colour.match(/[0-9]+/g).map(Number);
    const canvas = document.querySelector("main canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let at = 0; at < data.length; at += 4)
      if (data[at] === red && data[at + 1] === green && data[at + 2] === blue) count++;
    return count;
  })()`);
}

test(
  "a drive is added, shows what is saved, is paused, without its server for a while, and unmounted; nothing complains",
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
    await page.getByRole("banner").getByRole("button", { name: "Resume" }).click();
    await page.getByRole("heading", { name: "Everything is saved on the server." }).waitFor({ timeout: SHOWN_MS });

    await server.kill();
    await page
      .getByRole("heading", { name: "Offline. Files in the cache can be read." })
      .waitFor({ timeout: SHOWN_MS });
    await page.getByText("It goes on by itself once the server answers.").waitFor({ timeout: SHOWN_MS });
    await server.stop();
    server = await sandbox.startServer({ volumes: { docs: served }, listen: new URL(server.url).host });
    await page.getByRole("heading", { name: "Everything is saved on the server." }).waitFor({ timeout: SHOWN_MS });
    await page.getByText("Offline.", { exact: false }).first().waitFor({ timeout: SHOWN_MS });

    await page.getByRole("navigation").getByRole("link", { name: "Help" }).click();
    await page.getByText("The kernel can show drives.").waitFor({ timeout: SHOWN_MS });
    await page.getByText("The agent's log").click();
    await page.locator("pre.log", { hasText: "mounted" }).waitFor({ timeout: SHOWN_MS });
    await page.getByRole("navigation").getByRole("link", { name: "Home" }).click();

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
  "an upload is told while it goes on, and what was saved as the line counts it: in words, chart, table and file",
  async () => {
    const drive = sandbox.makeFolder("drive");
    const line = await sandbox.startEmulator(server.port, { upBitsPerSecond: 8e6, downBitsPerSecond: 8e6, rttMs: 20 });
    await device.mount(`ws://127.0.0.1:${line.port}/docs`, drive);
    const { page, complaints } = await browser.open(await link());
    await page.getByText("Everything is saved on the server.").first().waitFor({ timeout: SHOWN_MS });
    const source = sandbox.path("source.bin");
    writeFileSync(source, noise(5 * MB, 1));
    const copying = onMount('cp "$2" "$1/big.bin"', [drive, source], { deadlineMs: SHOWN_MS });
    const now = page.locator("section", { has: page.getByRole("heading", { name: "Now" }) });
    await now.getByRole("listitem").filter({ hasText: "To the server" }).getByText("big.bin").waitFor({
      timeout: SHOWN_MS,
    });
    await page.getByText("Leave it on: 1 file is on the way to the server.").waitFor({ timeout: SHOWN_MS });
    await copying;
    await now.getByText("Nothing moves.").waitFor({ timeout: SHOWN_MS });
    await page.getByText("You may switch off: nothing waits to be sent.").waitFor({ timeout: SHOWN_MS });
    const lately = page.locator("section", { has: page.getByRole("heading", { name: "Lately" }) });
    await lately.getByText("Saved big.bin.").waitFor({ timeout: SHOWN_MS });

    // The same once more, but for its beginning.
    writeFileSync(source, Buffer.concat([Buffer.alloc(100), noise(5 * MB, 1)]));
    await onMount('cp "$2" "$1/big.bin"', [drive, source], { deadlineMs: SHOWN_MS });
    await device.flush(drive, { up: true });
    await quiet(line);
    const { up, down } = await line.counts();
    const crossed = up.sentBytes + down.sentBytes;
    await page.getByRole("navigation").getByRole("link", { name: "Savings" }).click();
    const sentence = page.getByText(/^Today you worked with .* crossed the wire\.$/);
    await sentence.waitFor({ timeout: SHOWN_MS });
    const [, worked = "", wire = ""] = /with (.*?)\. (.*) crossed/.exec(await sentence.innerText()) ?? [];
    expect(Math.abs(bytesOf(wire) - crossed) / crossed).toBeLessThan(0.01);
    expect(bytesOf(worked)).toBeGreaterThan(9.9 * MB);
    await page.locator("main canvas").waitFor({ timeout: SHOWN_MS });
    await waitFor(async () => (await barPixels(page)) > 0, SHOWN_MS, "bars in the chart");
    await page.getByText("The same as a table").click();
    for (const [column, all] of [worked, wire].entries()) {
      const cells = await page.locator(`table tbody td:nth-of-type(${column + 2})`).allInnerTexts();
      const sum = cells.reduce((bytes, cell) => bytes + bytesOf(cell), 0);
      expect(Math.abs(sum - bytesOf(all)) / bytesOf(all)).toBeLessThan(0.01);
    }
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save as CSV" }).click(),
    ]);
    expect(readFileSync(await download.path(), "utf8")).toMatch(/^hour,server,drive,folder,read,written,/);
    expect(complaints).toEqual([]);
  },
  TEST_MS,
);

test(
  "bytes that came from colleagues, sticks and old folders are told apart",
  async () => {
    const drive = sandbox.makeFolder("drive");
    await device.mount(`${server.url}/docs`, drive);
    await device.ask(["stop"]);
    const counts = { read: 20, colleague: 2, stick: 3, oldFolder: 5 };
    const columns = "read, written, sent, received, oldVersion, otherFile, compression, colleague, stick, oldFolder";
    const values = columns.split(", ").map((name) => MIB * (counts[name as keyof typeof counts] ?? 0));
    const hour = Math.floor(Date.now() / 3_600_000);
    const insert = `INSERT OR REPLACE INTO savings (hour, drive, folder, ${columns}) VALUES (${hour}, 1, '', ${values})`;
    expect(await changeDatabase(join(device.home, "history.sqlite"), insert)).toBe(1);

    const { page, complaints } = await browser.open(await link());
    await page.getByRole("navigation").getByRole("link", { name: "Savings" }).click();
    for (const [origin, bytes] of [
      ["Colleagues", "2 MB"],
      ["Sticks", "3 MB"],
      ["Old folders", "5 MB"],
    ] as const) {
      const row = page.getByRole("main").locator("dl div", { hasText: origin });
      await row.waitFor({ timeout: SHOWN_MS, state: "attached" });
      expect(await row.locator("dd").innerText()).toBe(bytes);
    }
    expect(complaints).toEqual([]);
  },
  TEST_MS,
);

test(
  "an error is told where it belongs; the page of an agent that was killed ends, and a new one maps the drive again",
  async () => {
    const drive = sandbox.makeFolder("drive");
    await device.mount(`${server.url}/docs`, drive);
    await onMount('printf written > "$1/note.txt"', [drive]);
    const { page } = await browser.open(await link());
    await page.getByRole("navigation").getByRole("link", { name: "Add a drive" }).click();
    await page.getByLabel("Invite or address").fill(`${server.url}/docs`);
    await page.getByLabel("Where it appears").fill(join(sandbox.folder, "missing"));
    await page.getByRole("button", { name: "Map the drive" }).click();
    await page.getByRole("alert").filter({ hasText: "missing does not exist" }).waitFor({ timeout: SHOWN_MS });
    expect(await page.getByLabel("Invite or address").getAttribute("aria-invalid")).toBe("false");

    await device.killAgent();
    // It is not asked for ever: another agent is at another port.
    await page.getByText("This page has ended").waitFor({ timeout: SHOWN_MS });
    await page.getByText("Open it again from the icon of Runnel").waitFor({ timeout: SHOWN_MS });
    const again = await browser.open(await link());
    await again.page.getByRole("heading", { name: `The agent ended without unmounting ${drive}.` }).waitFor({
      timeout: SHOWN_MS,
    });
    expect(await again.page.getByText("runnel mount").count()).toBe(0);
    await again.page.getByRole("button", { name: "Map again" }).click();
    await again.page
      .getByRole("heading", { name: "Everything is saved on the server." })
      .waitFor({ timeout: SHOWN_MS });
    expect((await run("cat", [join(drive, "note.txt")])).stdout).toBe("written");

    // An agent that ends by itself tells its pages.
    await device.ask(["stop"]);
    await again.page.getByText("This page has ended").waitFor({ timeout: SHOWN_MS });
  },
  TEST_MS,
);

test(
  "a conflict names both files, who saved and when, and opens either",
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
      mounts: { conflicts: { path: string; conflictCopy: string | null; by: string }[] }[];
    };
    const [conflict] = mounts[0]?.conflicts ?? [];
    const copy = conflict?.conflictCopy ?? "";
    expect([existsSync(join(served, copy)), copy]).toEqual([true, expect.stringContaining("report")]);
    await page.getByText("drive/report.txt was changed in two places").waitFor({ timeout: SHOWN_MS });
    expect(conflict?.by).toMatch(/./);
    await page.getByText(`Saved last by ${conflict?.by}`).waitFor({ timeout: SHOWN_MS });
    expect(await page.getByRole("main").locator("time").count()).toBe(1);
    const menu = page.getByRole("button", { name: /^Actions for drive/ });
    await menu.click();
    await page.getByRole("menuitem", { name: "Open it" }).click();
    await waitFor(() => opened().includes(join(drive, "report.txt")), SHOWN_MS, "the file to be opened");
    await menu.click();
    await page.getByRole("menuitem", { name: "Open the other" }).click();
    await waitFor(() => opened().includes(join(drive, copy)), SHOWN_MS, "the other file to be opened");
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
  "of a conflict without a copy the page says why the other content cannot be opened, and offers only what works",
  async () => {
    const [here, elsewhere] = [sandbox.device("here"), sandbox.device("elsewhere")];
    const [drive, theirs] = [sandbox.makeFolder("drive"), sandbox.makeFolder("theirs")];
    await here.mount(`${server.url}/docs`, drive);
    await elsewhere.mount(`${server.url}/docs`, theirs);
    // A program that holds the file open while the other one writes it in place.
    const script = `echo base > "$1/report.txt"
exec 3<>"$1/report.txt"
until grep -q base "$2/report.txt"; do sleep 0.1; done
echo theirs > "$2/report.txt"
echo mine >&3; exec 3>&-`;
    await run("bash", ["-c", script, "bash", drive, theirs], { deadlineMs: SHOWN_MS });
    await here.flush(drive, { up: true });
    const { mounts } = (await here.status()) as { mounts: { conflicts: { conflictCopy: string | null }[] }[] };
    expect(mounts[0]?.conflicts).toMatchObject([{ conflictCopy: null }]);
    expect(readFileSync(join(served, "report.txt"), "utf8")).toMatch(/^mine/);
    const { page: shown } = (await here.ask(["ui", "--print"])) as { page: { link: string } };
    const { page, complaints } = await browser.open(shown.link);
    await page.getByRole("navigation").getByRole("link", { name: "Conflicts" }).click();
    await page.getByText("The other cannot be opened from here: it is an old version").waitFor({ timeout: SHOWN_MS });
    await page.getByRole("button", { name: /^Actions for drive/ }).click();
    expect(await page.getByRole("menuitem").allInnerTexts()).toEqual([
      "Open it",
      "Show it in its folder",
      "I have seen to it",
    ]);
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

    await device.ask(["stop"]);
    const later = await browser.open(await link());
    await later.page.getByText("Not mapped now.").waitFor({ timeout: SHOWN_MS });
    await later.page.getByRole("button", { name: "Forget" }).click();
    await later.page.getByRole("alertdialog").getByRole("button", { name: "Forget" }).click();
    await later.page.getByText("No drive is mapped").waitFor({ timeout: SHOWN_MS });
    expect(await device.status()).toMatchObject({ mounts: [], lost: [], resting: [] });
  },
  TEST_MS,
);

test(
  "what starts at a log-in is as the system has it, is changed by a tick, and says why where it cannot be",
  async () => {
    // Without a systemd of the user it is an entry of the desktop.
    const [bin, config] = [sandbox.makeFolder("bin"), sandbox.makeFolder("config")];
    writeFileSync(join(bin, "systemctl"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
    const env = { PATH: `${bin}:${process.env["PATH"]}`, XDG_CONFIG_HOME: config };
    const mine = sandbox.device("mine", env);
    const { page: opened } = (await mine.ask(["ui", "--print"])) as { page: { link: string } };
    const { page, complaints } = await browser.open(opened.link);
    await page.getByRole("navigation").getByRole("link", { name: "Settings" }).click();
    const tick = page.getByLabel("Start when I log in");
    const place = join(config, "autostart", "runnel-drives.desktop");
    const says = (text: string): Promise<void> => page.getByText(text).waitFor({ timeout: SHOWN_MS });
    await says("are then there after a log-in");
    expect([await tick.isChecked(), await tick.isEnabled()]).toEqual([false, true]);
    await tick.click();
    await says(`They are started by ${place}`);
    expect(await tick.isChecked()).toBe(true);
    expect(readFileSync(place, "utf8")).toContain("reconnect");
    expect(await mine.ask(["start-at-login"])).toEqual({ state: "on", place, obstacle: null });

    // Another copy of Runnel has taken the place meanwhile.
    const look = (): Promise<unknown> => page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    const own = readFileSync(place, "utf8");
    writeFileSync(place, own.replace("Exec=", "Exec=/elsewhere/"));
    await look();
    await says("Another copy of Runnel is started when you log in");
    expect(await tick.isChecked()).toBe(false);
    await tick.press("Space");
    await says(`They are started by ${place}`);
    expect(readFileSync(place, "utf8")).toBe(own);
    await tick.press("Space");
    await says("are then there after a log-in");
    expect([await tick.isChecked(), existsSync(place)]).toEqual([false, false]);

    rmdirSync(join(config, "autostart"));
    writeFileSync(join(config, "autostart"), "in the way");
    await tick.click();
    await page.getByRole("alert").getByText(`${place} cannot be written (EEXIST).`).waitFor({ timeout: SHOWN_MS });
    expect(await tick.isChecked()).toBe(false);
    rmSync(join(config, "autostart"));
    await tick.click();
    await says(`They are started by ${place}`);
    expect(await page.getByRole("alert").count()).toBe(0);

    writeFileSync(place, "[Desktop Entry]\nName=Something else\n");
    await look();
    await says(`Somebody else's entry is at ${place}.`);
    expect([await tick.isChecked(), await tick.isEnabled()]).toEqual([false, false]);
    rmSync(place);
    mkdirSync(place);
    const { page: again } = (await mine.ask(["ui", "--print"])) as { page: { link: string } };
    const later = await browser.open(`${again.link}`);
    await later.page.getByRole("navigation").getByRole("link", { name: "Settings" }).click();
    await later.page.getByText(`${place} cannot be read (EISDIR).`).waitFor({ timeout: SHOWN_MS });
    rmdirSync(place);
    await later.page.getByRole("button", { name: "Try again" }).click();
    await later.page.getByText("are then there after a log-in").waitFor({ timeout: SHOWN_MS });
    expect([...complaints, ...later.complaints]).toEqual([]);
  },
  TEST_MS,
);

test(
  "the file that runnel ui starts the browser with opens the window, and is gone then",
  async () => {
    // Stands in for the program that starts the browser: it writes down what it is given.
    const bin = sandbox.makeFolder("bin");
    writeFileSync(join(bin, "xdg-open"), `#!/bin/sh\nprintf %s "$1" > '${bin}/opened'\n`, { mode: 0o755 });
    const mine = sandbox.device("mine", { PATH: `${bin}:${process.env["PATH"]}` });
    expect(await mine.ask(["ui"])).toMatchObject({ page: { isOpened: true } });
    const file = readFileSync(join(bin, "opened"), "utf8");
    const { page, complaints } = await browser.open(pathToFileURL(file).href);
    await page.getByText("No drive is mapped").waitFor({ timeout: SHOWN_MS });
    expect([new URL(page.url()).protocol, existsSync(file)]).toEqual(["http:", false]);
    // The session stays in this tab.
    await page.getByRole("navigation").getByRole("link", { name: "Settings" }).click();
    await page.reload();
    await page.getByText("None yet. An invite makes this computer known to one.").waitFor({ timeout: SHOWN_MS });
    expect(complaints).toEqual([]);
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
