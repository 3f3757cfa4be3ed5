// `npm run check`: how everything is written, and whether the types are right. Types take about as long as all else,
// so both go side by side; each says what it found when it has ended.
import { spawn } from "node:child_process";

const ROWS = [["format:check", "lint", "lint:cpp"], ["types"]];

/** Runs a script of package.json; resolves with its exit code. */
function run(script) {
  return new Promise((resolve, reject) => {
    const child = spawn("npm", ["run", "--silent", script], { stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (said += text));
    child.on("error", reject);
    child.on("close", (code) => {
      process.stdout.write(`${script}:\n${said}`);
      resolve(code ?? 1);
    });
  });
}

async function inTurn(scripts) {
  for (const script of scripts) {
    const code = await run(script);
    if (code !== 0) return code;
  }
  return 0;
}

const codes = await Promise.all(ROWS.map(inTurn));
process.exitCode = codes.find((code) => code !== 0) ?? 0;
