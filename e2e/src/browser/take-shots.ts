// Takes the pictures of docs/images from the product itself: `npm run shots`. A server with two volumes, drives of two
// machines, files that are saved, edited and pinned; then the window and the console as they show that.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { type Device, Sandbox, onMount } from "../harness/index.ts";
import { TestBrowser } from "./browser.ts";

const IMAGES = fileURLToPath(new URL("../../../docs/images/", import.meta.url));
const SHOWN_MS = 30_000;
const SIZE = { width: 1080, height: 720 };

const browser = await TestBrowser.start();
const sandbox = new Sandbox();
try {
  mkdirSync(IMAGES, { recursive: true });
  await takeAll();
} finally {
  await browser.close();
  await sandbox.cleanup();
}

async function takeAll(): Promise<void> {
  const docs = sandbox.makeFolder("srv", "docs");
  const photos = sandbox.makeFolder("srv", "photos");
  for (const name of ["Contracts", "Reports", "Letters"]) mkdirSync(join(docs, name));
  for (let month = 1; month <= 9; month++)
    writeFileSync(
      join(docs, "Reports", `2026-0${month}.ods`),
      `month ${month}: ${"figures and words ".repeat(60_000)}`,
    );
  writeFileSync(join(docs, "Budget.ods"), "figures of the year ".repeat(200_000));
  writeFileSync(join(photos, "Summer.jpg"), Buffer.alloc(2_400_000, "picture "));
  const server = await sandbox.startServer({ volumes: { docs, photos }, listen: "127.0.0.1:0", args: ["--tls"] });
  const [ada, ben] = await Promise.all([knownDevice("ada-laptop"), knownDevice("ben-desk")]);
  const drive = sandbox.makeFolder("Docs");
  await ada.mount(`${server.url}/docs`, drive);
  await ada.mount(`${server.url}/photos`, sandbox.makeFolder("Photos"));
  await ben.mount(`${server.url}/docs`, sandbox.makeFolder("Ben"));
  await onMount(
    'cat "$1"/Reports/* "$1"/Budget.ods > /dev/null; cp "$1/Budget.ods" "$1/Budget next year.ods"; printf x >> "$1/Budget.ods"; mkdir "$1/Minutes"; cp "$1"/Reports/2026-0[1-4].ods "$1/Minutes"',
    [drive],
  );
  await ada.flush(drive);
  await ada.ask(["pin", join(drive, "Reports")]);
  const window = await open(await linkOf(ada, ["ui", "--print"]));
  await window.getByText("Everything is saved on the server.").first().waitFor({ timeout: SHOWN_MS });
  for (const [view, shown, name] of [
    ["Savings", "canvas", "savings"],
    ["Folders", "text=kept here", "folders"],
  ] as const) {
    await window.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: view }).click();
    await window.locator(shown).first().waitFor({ timeout: SHOWN_MS });
    await shoot(window, name);
  }
  const console = await open(await linkOf(ada, ["console", "--print", "--data", sandbox.path("data")]));
  for (const [place, shown] of [
    ["Overview", /MB in files/],
    ["Live", "ben-desk"],
  ] as const) {
    await console.getByRole("navigation", { name: "Places" }).getByRole("link", { name: place }).click();
    await console.getByRole("heading", { level: 1, name: place }).waitFor({ timeout: SHOWN_MS });
    await console
      .getByText(shown)
      .first()
      .waitFor({ timeout: 3 * SHOWN_MS });
    await shoot(console, `console-${place.toLowerCase()}`);
  }
}

/** A device that may write to both volumes. */
async function knownDevice(name: string): Promise<Device> {
  const device = sandbox.device(name);
  for (const volume of ["docs", "photos"]) {
    const { invite } = await sandbox.device("admin").ask(["invite", volume, "--data", sandbox.path("data")]);
    await device.ask(["login", String(invite), "--name", name]);
  }
  return device;
}

async function linkOf(device: Device, args: string[]): Promise<string> {
  const said = JSON.stringify(await device.ask(args));
  const link = /"(http:[^"]*#[^"]*)"/.exec(said)?.[1];
  if (link === undefined) throw new Error(`No link in ${said}.`);
  return link;
}

async function open(link: string): Promise<Page> {
  const { page } = await browser.open(link);
  await page.setViewportSize(SIZE);
  return page;
}

async function shoot(page: Page, name: string): Promise<void> {
  await page.mouse.move(0, 0);
  await page.screenshot({ path: join(IMAGES, `${name}.png`) });
}
