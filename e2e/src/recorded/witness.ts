// Loaded into servers and agents of a recorded run before their own code (node --import): notes down what the checker
// has to know, and puts in the fault of a mutant, if the run is to have one. What it replaces are methods of the
// product's own classes, in the process that it is loaded into.
import { openSync, writeSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isMainThread } from "node:worker_threads";
import { replace } from "../consistency/mutants/replace.ts";
import { decidedOf } from "../consistency/check/truth.ts";
import { type Note, monotonicMs } from "./notes.ts";

const SETTINGS = "RUNNEL_WITNESS";

export interface WitnessSettings {
  of: "server" | "agent";
  /** The file of its notes; it may have some of an earlier process. */
  notes: string;
  mutant?: string | undefined;
  /** Acknowledges nothing. */
  isMute?: boolean;
}

/** Environment of a process that is to have a witness. */
export function witnessed(settings: WitnessSettings): NodeJS.ProcessEnv {
  return { NODE_OPTIONS: `--import=${fileURLToPath(import.meta.url)}`, [SETTINGS]: JSON.stringify(settings) };
}

async function watch(settings: WitnessSettings): Promise<void> {
  if (settings.mutant !== undefined) {
    const { MUTANTS } = await import("../consistency/mutants/mutants.ts");
    MUTANTS.find(({ name }) => name === settings.mutant)?.apply();
  }
  if (!isMainThread) return;
  const file = openSync(settings.notes, "a");
  const note = (what: object): void => {
    writeSync(file, `${JSON.stringify({ ...what, atMs: monotonicMs() } as Note)}\n`);
  };
  if (settings.of === "server") await watchServer(note);
  else await watchAgent(note, settings.isMute === true);
}

type Take = (what: object) => void;

async function watchServer(note: Take): Promise<void> {
  const { Feed, MetaFront, Volume } = await import("@runnel/server/internals");
  replace<unknown, Parameters<InstanceType<typeof MetaFront>["plan"]>>(
    MetaFront.prototype,
    "plan",
    (original) =>
      async function (batch) {
        const all = (await original.call(this, batch)) as Parameters<typeof decidedOf>[1][];
        const decided = all.map((each, index) => {
          const request = batch[index];
          return request === undefined ? undefined : decidedOf(request, each);
        });
        note({ planned: decided.filter((each) => each !== undefined) });
        return all;
      },
  );
  replace<unknown, unknown[]>(
    MetaFront.prototype,
    "commit",
    (original) =>
      async function (...args) {
        await original.call(this, ...args);
        note({ committed: true });
      },
  );
  replace<unknown, unknown[]>(
    Volume,
    "open",
    (original) =>
      async function (...args) {
        const volume = (await original.call(this, ...args)) as { seq: number };
        note({ opened: volume.seq });
        return volume;
      },
  );
  replace<unknown, [readonly { seq: number }[], ...unknown[]]>(
    Feed.prototype,
    "publish",
    (original) =>
      function (changes, ...args) {
        const acknowledged = original.call(this, changes, ...args) as Promise<void>;
        let isWaiting = true;
        void acknowledged.then(() => (isWaiting = false));
        // Nothing to wait for is settled by the next turn.
        setImmediate(() => {
          if (isWaiting) note({ waits: changes.at(-1)?.seq });
        });
        return acknowledged;
      },
  );
}

async function watchAgent(note: Take, isMute: boolean): Promise<void> {
  const { RequestHandler, Session } = await import("@runnel/app/internals");
  const { Channel } = await import("@runnel/shared");
  replace<{ deps: { instance(): string } }, unknown[]>(
    Session.prototype,
    "attach",
    (original) =>
      function (...args) {
        note({ instance: this.deps.instance() });
        return original.call(this, ...args);
      },
  );
  if (isMute)
    replace<unknown, [unknown]>(
      Channel.prototype,
      "send",
      (original) =>
        function (item) {
          if (!Array.isArray(item) || item[0] !== "ack") original.call(this, item);
        },
    );
  const watched = new WeakSet();
  replace<{ deps: { answersOffline(): void } }, unknown[]>(
    RequestHandler.prototype,
    "requests",
    (original) =>
      function (...args) {
        const { deps } = this;
        if (!watched.has(deps)) {
          watched.add(deps);
          const { answersOffline } = deps;
          deps.answersOffline = () => {
            note({ offline: true });
            answersOffline();
          };
        }
        return original.call(this, ...args);
      },
  );
}

const asked = process.env[SETTINGS];
if (asked !== undefined) {
  const settings = JSON.parse(asked) as WitnessSettings;
  // The command line, which starts the agent, is nobody to be watched.
  const isIt = !isMainThread || process.argv.some((word) => word === "serve" || word.endsWith("agent/main.ts"));
  if (isIt) await watch(settings);
}
