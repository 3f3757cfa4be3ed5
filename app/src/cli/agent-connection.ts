// Reaches the agent: the one that runs, or one that is started now.
import {
  type CallClient,
  type CallSchemas,
  type CallTable,
  type Clock,
  type CallResult,
  type CallPart,
  RealClock,
  RunnelError,
  sleep,
} from "@runnel/shared/base";
import type { z } from "zod";
import { ownProgram } from "../agent/control/host/own-program.ts";
import type { Launched } from "../agent/control/host/system.ts";
import { AgentHome, connectAgent, prepareHome, thisSystem } from "../agent/control/index.ts";
import { VERSION } from "../agent/version.ts";

const START_MS = 10_000;
const POLL_MS = 20;

/** Runs `work` with the agent, which is started when none runs. */
export async function withAgent<T extends CallTable, R>(
  table: T,
  work: (client: CallClient<T>) => Promise<R>,
): Promise<R> {
  return use(await openAgent(table), work);
}

/** Connects to the agent, which is started when none runs. Close it. */
export async function openAgent<T extends CallTable>(table: T): Promise<CallClient<T>> {
  const clock = new RealClock();
  const home = new AgentHome();
  return (await reach(home, clock, table)) ?? start(home, clock, table);
}

/** Asks the agent, which is started when none runs; `part` takes what comes before the result. */
export function askAgent<C extends CallSchemas>(
  verb: string,
  schemas: C,
  request: z.input<C["asks"]>,
  part?: (part: CallPart<C>) => void,
): Promise<CallResult<C>> {
  const checked = checkLengths(schemas, request);
  return withAgent({ [verb]: schemas }, (client) => client.ask(verb, checked, part));
}

/**
 * Asks the agent that runs, or starts one to speak for another that crashed.
 * @returns undefined when no agent runs and none left anything behind.
 */
export async function askRunningAgent<C extends CallSchemas>(
  verb: string,
  schemas: C,
  request: z.input<C["asks"]>,
  part?: (part: CallPart<C>) => void,
): Promise<CallResult<C> | undefined> {
  const checked = checkLengths(schemas, request);
  const table = { [verb]: schemas };
  const clock = new RealClock();
  const home = new AgentHome();
  const ask = (client: CallClient<Record<string, C>>): Promise<CallResult<C>> => client.ask(verb, checked, part);
  const client = await reach(home, clock, table);
  if (client !== undefined) return use(client, ask);
  // An agent that ended cleanly takes its record along; what a crashed one left is reported by its successor.
  return home.readRecord() === undefined ? undefined : use(await start(home, clock, table), ask);
}

/** Returns what goes to the agent of what a command asks, with which only lengths can be wrong. */
function checkLengths<C extends CallSchemas>({ asks }: C, request: z.input<C["asks"]>): z.input<C["asks"]> {
  const checked = asks.safeParse(request);
  if (checked.success) return checked.data as z.input<C["asks"]>;
  const sentence = "A path, an address or a search is too long. Use shorter ones.";
  throw new RunnelError("Invalid", "ask the agent", sentence);
}

async function use<T extends CallTable, R>(
  client: CallClient<T>,
  work: (client: CallClient<T>) => Promise<R>,
): Promise<R> {
  try {
    return await work(client);
  } finally {
    client.close();
  }
}

async function reach<T extends CallTable>(home: AgentHome, clock: Clock, table: T): Promise<CallClient<T> | undefined> {
  const record = home.readRecord();
  if (record === undefined) return undefined;
  return connectAgent(record.socket, table, { version: VERSION, clock, deadlineMs: START_MS });
}

async function start<T extends CallTable>(home: AgentHome, clock: Clock, table: T): Promise<CallClient<T>> {
  await prepareHome(home);
  const program = spawnAgent(home);
  const untilMs = clock.bootMs() + START_MS;
  // An exit code of 0 says that another agent was there first: that one answers.
  while (clock.bootMs() < untilMs && !program.hasFailed()) {
    const client = await reach(home, clock, table);
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

function spawnAgent(home: AgentHome): Launched {
  return thisSystem.startInBackground({
    // Older Nodes warn about what is stable by now; the log is read by people.
    command: [process.execPath, "--disable-warning=ExperimentalWarning", ownProgram("agent")],
    // It stands where it keeps nobody from removing a folder.
    folder: thisSystem.paths.files.parse(home.folder).root,
    environment: { ...process.env, RUNNEL_HOME: home.folder },
    logPath: home.logPath,
  });
}
