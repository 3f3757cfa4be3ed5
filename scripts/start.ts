// npm start: serves ./demo (made from real files), maps it at ./drive, says what to try, and shows what crosses the
// wire until Ctrl-C. Everything that it keeps lies in .setup/; nothing of it is left running or mounted, also not by a
// run that was killed.
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type CallClient, isRunnelError, type CallPart, RunnelError } from "@runnel/shared";
import { withAgent } from "../app/src/cli/agent-connection.ts";
import { formatBytes, formatSaved } from "../app/src/cli/format.ts";
import { askServer } from "../server/src/admin/admin-client.ts";
import { AGENT_VERBS } from "../app/src/verbs/index.ts";
import { quoted } from "../app/src/agent/control/quoted.ts";
import { wireTotal } from "../app/src/agent/mount-status.ts";
import { makeDemo } from "./demo.ts";
import { type DemoServer, startDemoServer } from "./demo-server.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");
const DEMO = join(ROOT, "demo");
const DRIVE = join(ROOT, "drive");
const SETUP = join(ROOT, ".setup");
const DATA = join(SETUP, "demo");
/** Folder of an agent of its own. */
const HOME = join(SETUP, "home");
const LIVE_MS = 1000;

type AgentClient = CallClient<typeof AGENT_VERBS>;

const toEnd = new AbortController();
let signals = 0;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    signals += 1;
    if (signals > 1) process.exit(1);
    toEnd.abort();
  });
}

async function run(): Promise<number> {
  let server: DemoServer | undefined;
  try {
    mkdirSync(SETUP, { recursive: true });
    if (!existsSync(DEMO)) {
      console.log("Making ./demo from files of this project and its packages.");
      makeDemo(ROOT, DEMO);
    }
    await withAgent(AGENT_VERBS, clearDrive);
    makeMountPoint();
    server = await startDemoServer(ROOT, DEMO, SETUP);
    const { url, ended } = server;
    void ended.then(() => toEnd.abort());
    await withAgent(AGENT_VERBS, (client) => show(client, url));
    return 0;
  } catch (error) {
    console.error(isRunnelError(error) ? error.message : error);
    return 1;
  } finally {
    await server?.end();
  }
}

/** A run that was killed may have left its agent, and the drive in it. */
async function clearDrive(client: AgentClient): Promise<void> {
  const { mounts, lost } = await client.ask("status", {});
  for (const { mountpoint } of [...mounts, ...lost]) {
    await client.ask("unmount", { mountpoint, force: true });
  }
}

function makeMountPoint(): void {
  try {
    mkdirSync(DRIVE);
  } catch (error) {
    // The agent judges what is there, and says what is wrong with it.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

async function show(client: AgentClient, url: string): Promise<void> {
  if (toEnd.signal.aborted) return;
  await client.ask("mount", { url, mountpoint: DRIVE, mode: "sync" });
  try {
    console.log(OPENING);
    console.log(await describePages(client));
    const live = new LiveLine();
    await client.ask(
      "watch",
      { mountpoint: DRIVE, intervalMs: LIVE_MS },
      (part) => live.show(describe(part)),
      toEnd.signal,
    );
    live.end();
  } finally {
    await unmountAndStop(client);
  }
}

async function unmountAndStop(client: AgentClient): Promise<void> {
  try {
    await client.ask("unmount", { mountpoint: DRIVE, force: false });
  } catch (error) {
    if (isRunnelError(error, "Busy")) console.log("Programs still use ./drive. It is unmounted all the same.");
  }
  await client.ask("stop", { force: true });
  console.log("Unmounted ./drive and ended server and agent. ./demo stays.");
}

const OPENING = `
./demo is served, and mapped at ./drive. Try in another terminal, in this folder:

  cp drive/large/sqlite3.c drive/large/copy.c           # 9 MB copied, hardly a byte sent
  sed -i '1i /* changed */' drive/large/sqlite3.c       # 9 MB saved, a few KB sent
  export RUNNEL_HOME=.setup/home
  node_modules/.bin/runnel flush --applied drive        # the server has it: now in its plain files too
  head -1 demo/large/sqlite3.c                          # and there it is
  node_modules/.bin/runnel stats

Ctrl-C unmounts and ends everything.
`;

/** Says where the window and the console are: links that are good once, for a minute. */
async function describePages(client: AgentClient): Promise<string> {
  const window = await client.ask("openPage", { way: "link" });
  const server = await askServer(DATA, "console", { way: "link" });
  const runnel = quoted(join(ROOT, "node_modules/.bin/runnel"));
  return `In your browser, each once and within a minute:
The window of your drives: ${window.opens}
The console of the server: ${server.opens}
New links, from any terminal:

  RUNNEL_HOME=${quoted(HOME)} ${runnel} ui --print
  ${runnel} console --print --data ${quoted(DATA)}
`;
}

function describe({ mounts }: CallPart<(typeof AGENT_VERBS)["watch"]>): string {
  const [mount] = mounts;
  if (mount === undefined) throw new RunnelError("NotFound", "start", "The drive is gone.");
  const { applications, sent, received, savedPercent } = mount.statistics;
  const wire = formatBytes(wireTotal(sent) + wireTotal(received));
  const moved = `Programs wrote ${formatBytes(applications.writtenBytes)}, read ${formatBytes(applications.readBytes)}`;
  return `${moved}; ${wire} on the wire; ${formatSaved(savedPercent)} saved`;
}

/** A line that changes in place on a terminal; in a pipe a new line, when something changed. */
class LiveLine {
  #shown = "";

  show(text: string): void {
    if (text === this.#shown) return;
    this.#shown = text;
    if (process.stdout.isTTY) process.stdout.write(`\r\u001B[2K${text.slice(0, process.stdout.columns - 1)}`);
    else console.log(text);
  }

  end(): void {
    if (process.stdout.isTTY && this.#shown !== "") process.stdout.write("\n");
  }
}

process.env["RUNNEL_HOME"] = HOME;
process.exitCode = await run();
