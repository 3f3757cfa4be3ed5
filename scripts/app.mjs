// npm run app: builds the desktop app where its sources are newer, and starts it under the Electron of the package
// `electron`, else under that of the tests. Words after -- go to Electron.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { testElectron } from "./tools.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Electron's own binary, which `npx install-electron` fetches from its vendor. */
function installedElectron() {
  const folder = join(ROOT, "node_modules/electron");
  const note = join(folder, "path.txt");
  if (!existsSync(note)) return undefined;
  const path = join(folder, "dist", readFileSync(note, "utf8").trim());
  return existsSync(path) ? path : undefined;
}

function stop(...lines) {
  for (const line of lines) console.error(line);
  process.exit(1);
}

const words = process.argv.slice(2);
const electron = installedElectron() ?? testElectron();
if (electron === undefined)
  stop(
    "The desktop app needs Electron, which is not here. Fetch it from its vendor, then try again:",
    "",
    "    npx install-electron",
  );
if (process.getuid?.() === 0 && !words.includes("--no-sandbox"))
  stop("Electron has no sandbox for root. Start the app as another user, or without one: npm run app -- --no-sandbox");
for (const script of ["build-pages.mjs", "build-desktop.mjs"]) {
  const { status } = spawnSync(process.execPath, [join(ROOT, "scripts", script), "--if-older"], { stdio: "inherit" });
  if (status !== 0) stop(`The app could not be built; the message stands above.`);
}
const child = spawn(electron, [join(ROOT, "app/dist"), ...words], { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => stop(`Electron could not be started: ${error.message}`));
child.on("exit", (code) => process.exit(code ?? 1));
