// Packs what only the system itself can, for that system: `npm run pack:here -- app`. The desktop app is packed by
// electron-builder with what it starts; a package and an image of macOS are made of a tarball that lies in
// installers/out (darwin/make.sh). All else is packed on Linux: main.ts.
import { spawnSync } from "node:child_process";
import { copyFileSync, globSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { FeedPlace } from "../app/src/cli/updates/signed-feed.ts";
import { bundleForWindows } from "../scripts/bundle-windows.mjs";
import { folderOf, placeOf } from "./src/feed.ts";
import { LINUX, MACS } from "./src/host.ts";
import { readManifest } from "./src/packages.ts";
import { FEED_PLACE, placeText, productTree } from "./src/product.ts";
import { writeTree } from "./src/tree.ts";

const ROOT = resolve(fileURLToPath(new URL("..", import.meta.url)));
const OUT = join(ROOT, "installers/out");
/** Folder in the one that electron-builder.json takes beside the app, which must have no node_modules itself. */
const PRODUCT = join(OUT, "product/runnel");
const ELECTRON_BUILDER = "electron-builder@26.17.0";

const USAGE = `Packs on the system that it is for.

    npm run pack:here -- KIND… [--electron FOLDER]

KIND: app    the desktop app, by electron-builder: a set-up on Windows, an image and an archive on macOS, a folder
             elsewhere; --electron is one that is there already. With RUNNEL_UPDATE_KEY=FILE (the public half is
             enough) and RUNNEL_UPDATE_URL=URL it looks for updates there, as npm run pack tells of them
      pkg    macOS: a package of agent and command line, of the tarball in installers/out, with the Node that runs this
      dmg    macOS: the same in an image`;

const NAME = `${process.platform}-${process.arch}`;

function perform(command: string, ...args: string[]): void {
  const options = { cwd: ROOT, stdio: "inherit", shell: process.platform === "win32" } as const;
  const { error, status } = spawnSync(command, args, options);
  if (error !== undefined) throw new Error(`${command} cannot be run: ${error.message}`);
  if (status !== 0) throw new Error(`${command} ended with ${status}; its message stands above.`);
}

/**
 * Writes the program that the app starts: a bundle on Windows, a tree with a Node elsewhere.
 * @param place where it, and the app, look for updates; without it nowhere
 */
async function writeProduct(place: FeedPlace | undefined): Promise<void> {
  rmSync(PRODUCT, { recursive: true, force: true });
  if (process.platform === "win32") {
    await bundleForWindows(PRODUCT);
    if (place !== undefined) writeFileSync(join(PRODUCT, FEED_PLACE), placeText(place));
    return;
  }
  const host = [LINUX, ...MACS].find(({ name }) => name === NAME);
  if (host === undefined) throw new Error(`Nothing is packed for ${NAME}.`);
  if (host !== LINUX) perform(process.execPath, "native/build-all.mjs", NAME);
  perform(process.execPath, "--disable-warning=ExperimentalWarning", "scripts/build-pages.mjs", "--if-older");
  const epochSeconds = Math.floor(Date.now() / 1000);
  const release = { version: readManifest(ROOT).version, epochSeconds, level: 0 };
  writeTree(productTree(ROOT, release, place, host), PRODUCT, release);
  if (host.bringsNode) return;
  mkdirSync(join(PRODUCT, "node_modules/.bin"), { recursive: true });
  copyFileSync(process.execPath, join(PRODUCT, "node_modules/.bin/node"));
}

async function packApp(electron: string | undefined): Promise<void> {
  const place = placeOf(process.env);
  await writeProduct(place);
  perform(process.execPath, "scripts/build-desktop.mjs", "--if-older");
  const target = { win32: ["--win"], darwin: ["--mac"] }[process.platform as string] ?? ["--linux", "dir"];
  const given = electron === undefined ? [] : [`-c.electronDist=${resolve(electron)}`];
  const how = ["--publish", "never", "--config", "installers/electron-builder.json"];
  // It writes what electron-updater reads in the app (app-update.yml); the feeds are written by main.ts, for all.
  if (place !== undefined) how.push("-c.publish.provider=generic", `-c.publish.url=${folderOf(place)}`);
  perform("npx", "--yes", ELECTRON_BUILDER, ...target, `--${process.arch}`, ...how, ...given);
}

function packMac(kind: string): void {
  const [tarball] = globSync(`runnel-*-${NAME}.tar.xz`, { cwd: OUT });
  if (process.platform !== "darwin" || tarball === undefined)
    throw new Error(`A ${kind} is made on macOS, of its tarball in installers/out: npm run pack -- macos, on Linux.`);
  perform("installers/darwin/make.sh", kind, join(OUT, tarball), process.execPath, OUT);
}

const { positionals, values } = parseArgs({ allowPositionals: true, options: { electron: { type: "string" } } });
try {
  if (positionals.length === 0 || positionals.some((kind) => !["app", "pkg", "dmg"].includes(kind))) {
    console.error(USAGE);
    process.exitCode = 2;
  } else {
    for (const kind of positionals) {
      if (kind === "app") await packApp(values.electron);
      else packMac(kind);
    }
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
