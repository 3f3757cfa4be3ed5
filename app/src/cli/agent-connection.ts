// The way to the agent: the one that runs, or one that is started now.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type Clock, RealClock, RunnelError, sleep } from "@runnel/shared";
import { AgentHome, ControlClient, closeLog, openLog, prepareHome } from "../agent/control/index.ts";
import { VERSION } from "../agent/version.ts";

const START_MS = 10_000;
const POLL_MS = 20;
const AGENT_PROGRAM = fileURLToPath(new URL("../agent/main.ts", import.meta.url));

/** Runs `work` with the agent, which is started when none runs. */
export async function withAgent<T>(work: (client: ControlClient) => Promise<T>): Promise<T> {
  const clock = new RealClock();
  const home = new AgentHome();
  return use((await reach(home, clock)) ?? (await start(home, clock)), work);
}

/** The same, but resolves to undefined when no agent runs and none left anything behind. */
export async function withRunningAgent<T>(work: (client: ControlClient) => Promise<T>): Promise<T | undefined> {
  const clock = new RealClock();
  const home = new AgentHome();
  const client = await reach(home, clock);
  if (client !== undefined) return use(client, work);
  // An agent that ended cleanly takes its record along; what a crashed one left is told by its successor.
  return home.readRecord() === undefined ? undefined : use(await start(home, clock), work);
}

async function use<T>(client: ControlClient, work: (client: ControlClient) => Promise<T>): Promise<T> {
  try {
    return await work(client);
  } finally {
    client.close();
  }
}

async function reach(home: AgentHome, clock: Clock): Promise<ControlClient | undefined> {
  const record = home.readRecord();
  if (record === undefined) return undefined;
  const reached = await ControlClient.connect(record.socket, { version: VERSION, clock, deadlineMs: START_MS });
  return reached?.client;
}

async function start(home: AgentHome, clock: Clock): Promise<ControlClient> {
  await prepareHome(home);
  const program = spawnAgent(home);
  const untilMs = clock.bootMs() + START_MS;
  // An exit code of 0 says that another agent was there first: that one answers.
  while (clock.bootMs() < untilMs && !program.hasFailed()) {
    const client = await reach(home, clock);
    if (client !== undefined) return client;
    await sleep(clock, POLL_MS);
  }
  const said = home.lastLogLine();
  const why = program.hasFailed() ? "could not start" : "does not answer";
  throw new RunnelError(
    "Unavailable",
    "start the agent",
    `The agent ${why}${said === undefined ? "." : `: ${said}`} Its log is ${home.logPath}.`,
  );
}

function spawnAgent(home: AgentHome): { hasFailed(): boolean } {
  const log = openLog(home.logPath);
  // Older Nodes warn about what is stable by now; the log is read by people.
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", AGENT_PROGRAM], {
    cwd: "/",
    detached: true,
    stdio: ["ignore", log, log],
    env: { ...process.env, RUNNEL_HOME: home.folder },
  });
  closeLog(log);
  let hasFailed = false;
  child.once("exit", (code) => {
    hasFailed = code !== 0;
  });
  child.once("error", () => {
    hasFailed = true;
  });
  child.unref();
  return { hasFailed: () => hasFailed };
}
