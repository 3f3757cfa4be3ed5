// Lints workflow files with actionlint: what they may say, and where.    npm run lint:workflows [-- FILE…]
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureActionlint } from "./actionlint.mjs";

const FOLDER = join(dirname(dirname(fileURLToPath(import.meta.url))), ".github", "workflows");

const named = process.argv.slice(2);
const files = named.length > 0 ? named : globSync("*.yml", { cwd: FOLDER }).map((name) => join(FOLDER, name));
// Steps run our own scripts, which have their own linter.
const args = ["-no-color", "-shellcheck=", "-pyflakes=", ...files];
const { error, status } = spawnSync(ensureActionlint(), args, { stdio: "inherit" });
if (error) throw new Error(`actionlint could not be started: ${error.message}`);
process.exitCode = status ?? 1;
