// The plan of a run: all that is to happen, so that a run that failed can be kept, and made smaller. The chance that
// remains (jitter, bytes, the order of what happens at once) hangs on the plan's seed.
import { SeededRandom } from "@runnel/shared";
import { LIES, type Lie } from "./colleagues/hostile-offer.ts";

/** `readNewest`: what another client's program changed last, or `path`. */
export const DOINGS = [
  "read",
  "readNewest",
  "list",
  "write",
  "edit",
  "save",
  "remove",
  "rename",
  "link",
  "make",
  "create",
  "flush",
  "removeTree",
] as const;

export interface Step {
  client: number;
  /** Steps of one program follow each other. */
  program: number;
  /** Earliest time, from the begin of the work. */
  atMs: number;
  do: (typeof DOINGS)[number];
  path: string;
  /** rename, link */
  toPath?: string;
  /** write, save */
  sizeBytes?: number;
  /** write, edit, save: how long the file stays open after the last write. */
  holdsMs?: number;
}

export const FAULTS = [
  "cut",
  "halfCut",
  "blackHole",
  "noNetwork",
  "kill",
  "powerCut",
  "sleep",
  "wallJump",
  "memoryShort",
  "noAcks",
  "diskFull",
  "diskSlow",
  "serverPowerCut",
  "serverDiskFull",
  "serverDiskSlow",
  "slowAgent",
  "dataLost",
  "folderAway",
] as const;

export interface Fault {
  atMs: number;
  /** folderPaused: only where it is asked for; programsBusy: in mode async. */
  kind: (typeof FAULTS)[number] | "folderPaused" | "programsBusy";
  /** Client that the fault is for, where that makes a difference. */
  client: number;
  lastsMs: number;
}

/** Something that a program on the server does in the served folder. */
export interface OutsideStep {
  /** Earliest time, from the begin of the work. */
  atMs: number;
  how: (typeof OUTSIDE)[number];
  path: string;
  /** When a client's next save begins, or has returned, and to its file. */
  beside?: "begin" | "end";
  /** Delay after that. */
  lateMs: number;
  /** Number of writes. */
  pieces: number;
}

/** mapped: through a mapping, of which the system tells nobody. */
const OUTSIDE = ["inPlace", "append", "truncate", "replace", "mapped"] as const;

export interface Plan {
  seed: number;
  termMs: number;
  /** Each operation of the server's disks takes up to this. */
  serverDiskMs?: number;
  outside?: OutsideStep[];
  followsUnsent?: boolean;
  /** Clients are colleagues; some of them lie, in these ways. */
  colleagues?: { hostile: number[]; lies: Lie[] };
  /** All clients are in mode async. */
  isAsync?: boolean;
  /** Clients are stopped, mostly, while they have something on its way. */
  stopsInFlight?: boolean;
  clients: { delayMs: number; jitterMs: number }[];
  steps: Step[];
  faults: Fault[];
}

/** Settings that a plan is made with, where chance is not to decide. */
export interface PlanSettings {
  clients?: number;
  programs?: number;
  termMs?: number;
  /** Delay of the first client's line, one way. */
  delayMs?: number;
  /** And no others; those of the first client only. */
  faults?: readonly Fault["kind"][];
  /** Time that faults last beyond the usual. */
  faultsLongerMs?: number;
  /** From the begin to the end, and no other. */
  onlyFault?: Fault["kind"];
  /** Contents above a mebibyte in any case. */
  isLarge?: boolean;
  /** Contents have several chunks, and are edited where they would be read. */
  isEdited?: boolean;
  /** Lets programs mostly save as editors do, under few names, and edit that then. */
  isSavedAnew?: boolean;
  /** All clients are in mode async. */
  isAsync?: boolean;
  /** And each works in a folder of its own, mostly; or they take turns. */
  isApart?: boolean;
  /** Ways in which hostile colleagues lie, where there are any. */
  lies?: readonly Lie[];
  /** Powers in place of the usual ones. */
  powers?: readonly Power[];
}

/**
 * verbs: `runnel flush` and `runnel remove` beside programs that have unsaved bytes in open files. outside: programs on
 * the server write to the served folder. mapped: so that the system tells nobody. large: contents above a mebibyte.
 * slowAgent: agents get a fifth of a processor. unavailable: the served folder, or the server's own data, are not there
 * for a while. unsent: what a close failed with is followed. quiet: nothing fails, and programs of all clients make and
 * move the same few files. colleagues: clients serve each other's misses over a network of their own,
 * and some of them lie.
 */
export type Power =
  | "verbs"
  | "outside"
  | "mapped"
  | "large"
  | "slowAgent"
  | "unavailable"
  | "unsent"
  | "quiet"
  | "colleagues";
/** Powers that a plan has unless something else is asked for. */
const POWERS: readonly Power[] = ["verbs", "outside", "large", "slowAgent", "unavailable", "unsent", "quiet"];
/** Share of quiet plans among those that may be. */
const QUIET_SHARE = 0.05;
const QUIET_SEED = 0x5bd1e995;
const COLLEAGUES_SEED = 0x27d4eb2f;
/** Share of clients that lie to their colleagues. */
const HOSTILE_SHARE = 0.4;
const QUIET_SHARES: readonly (readonly [number, Step["do"]])[] = [
  [45, "create"],
  [60, "remove"],
  [70, "write"],
  [80, "read"],
];
/**
 * Share of such plans among those that may: whatever else they contain happens mostly while the server has its folder
 * and its data.
 */
const UNAVAILABLE_SHARE = 0.4;

const NEEDS: Partial<Record<Fault["kind"], Power>> = {
  slowAgent: "slowAgent",
  dataLost: "unavailable",
  folderAway: "unavailable",
};
const FOLDERS = ["", "d/", "e/"];
const NAMES = ["a", "b", "c"];
const HOLDS_MS = 3_000;
const LARGE_BYTES = 1_100_000;
const SIZES = [0, 10, 300, 5_000, 30_000];
/** Shares of steps in a hundred; the rest are renames. */
const SHARES: readonly (readonly [number, Step["do"]])[] = [
  [20, "readNewest"],
  [36, "read"],
  [44, "list"],
  [62, "write"],
  [72, "edit"],
  [80, "save"],
  [87, "remove"],
  [90, "make"],
  [93, "link"],
  [95, "flush"],
  [96, "removeTree"],
];

const VERBS: ReadonlySet<Step["do"]> = new Set<Step["do"]>(["flush", "removeTree"]);

export function planOf(seed: number, settings: PlanSettings = {}): Plan {
  const plan = drawn(seed, settings);
  if (settings.isAsync !== true) return plan;
  const isApart = settings.isApart ?? new SeededRandom(seed ^ APART_SEED).coin(APART_PLANS_SHARE);
  return asyncPlan(isApart ? apart(plan) : inTurns(plan));
}

const APART_SEED = 0x3c6ef372;
/** Share of plans in mode async in which each client has a folder of its own. */
const APART_PLANS_SHARE = 0.5;
/** Shares of names that are in the own folder then, and of looks that are at what is there. */
const OWN_SHARE = 0.9;
const OWN_LOOKS_SHARE = 0.7;
/** Time in which the folders are made. */
const MAKE_FOLDERS_MS = 1_000;

const TURN_MS = 6_000;
/** Share of steps that are done at any time. */
const OUT_OF_TURN = 0.1;
const ASYNC_SEED = 0x2545f491;

/** Lets clients work at the same time, each mostly in its own folder: in mode async it has the write lease of that. */
function apart(plan: Plan): Plan {
  const random = new SeededRandom(plan.seed ^ ASYNC_SEED);
  const folders = FOLDERS.slice(1);
  const inOwn = (path: string, client: number): string => {
    const own = folders[client % folders.length] ?? "";
    return random.coin(OWN_SHARE) ? `${own}${path.slice(path.lastIndexOf("/") + 1)}` : path;
  };
  const makes = folders.map((folder, atMs) => ({
    client: 0,
    program: 0,
    atMs,
    do: "make" as const,
    path: folder.slice(0, -1),
  }));
  const steps = plan.steps.map((step): Step => {
    const atMs = step.atMs + MAKE_FOLDERS_MS;
    if (step.do === "make" || VERBS.has(step.do)) return { ...step, atMs };
    const { client } = step;
    const isOwnLook = step.do === "readNewest" && random.coin(OWN_LOOKS_SHARE);
    const path = step.do === "list" ? step.path : inOwn(step.path, client);
    const more = step.toPath === undefined ? {} : { toPath: inOwn(step.toPath, client) };
    return { ...step, atMs, path, ...more, do: isOwnLook ? "read" : step.do };
  });
  return { ...plan, steps: [...makes, ...steps] };
}

/** Lets clients work in turns, mostly: in mode async one has the write lease of all while the others rest. */
function inTurns(plan: Plan): Plan {
  const random = new SeededRandom(plan.seed ^ ASYNC_SEED);
  const active: number[] = [];
  const turnOf = (client: number, from: number): number => {
    for (let turn = from; ; turn++) {
      while (active.length <= turn) active.push(random.below(plan.clients.length));
      if (active[turn] === client) return turn;
    }
  };
  const reached = new Map<string, number>();
  const steps = plan.steps.map((step) => {
    const key = `${step.client}/${step.program}`;
    const turn = Math.floor(step.atMs / TURN_MS);
    const own = random.coin(OUT_OF_TURN) ? turn : turnOf(step.client, turn);
    // No two of a program have the same time: what a step writes hangs on it.
    const atMs = Math.max((reached.get(key) ?? -1) + 1, own * TURN_MS + (step.atMs % TURN_MS));
    reached.set(key, atMs);
    return { ...step, atMs };
  });
  // A slow agent's lease is not to run out.
  const isSlow = plan.faults[0]?.kind === "slowAgent" && plan.faults.length === 1;
  const termMs = isSlow ? plan.termMs : 2_500 + random.below(1_000);
  return { ...plan, steps, termMs };
}

const BUSY_SEED = 0x1b56c4f5;
const BUSY_SHARE = 0.5;
const BUSY_MS = 6_000;

/** Programs of some clients ask for one thing after another for a while, so that what is to be sent gives way. */
function asyncPlan(plan: Plan): Plan {
  const random = new SeededRandom(plan.seed ^ BUSY_SEED);
  const lastMs = Math.max(0, ...plan.steps.map(({ atMs }) => atMs));
  const busy = [...plan.clients, ...plan.clients].flatMap((_, index): Fault[] => {
    if (!random.coin(BUSY_SHARE)) return [];
    const client = index % plan.clients.length;
    return [{ kind: "programsBusy", client, atMs: random.below(lastMs + 1), lastsMs: random.below(BUSY_MS) }];
  });
  return { ...plan, faults: [...plan.faults, ...busy], isAsync: true, stopsInFlight: true };
}

function drawn(seed: number, settings: PlanSettings): Plan {
  const random = new SeededRandom(seed);
  const powers = new Set(settings.powers ?? POWERS);
  // A source of chance of its own: the other seeds stay what they are.
  if (powers.has("quiet") && (powers.size === 1 || new SeededRandom(seed ^ QUIET_SEED).coin(QUIET_SHARE)))
    return quietPlan(seed, random);
  if (!random.coin(UNAVAILABLE_SHARE)) powers.delete("unavailable");
  const areColleagues = powers.has("colleagues");
  const clients = settings.clients ?? (areColleagues || random.coin(0.15) ? 3 : 2);
  const onlyFault = settings.onlyFault ?? lastingFault(random, powers);
  const isLong = onlyFault === undefined && random.coin(0.05);
  // Names that nobody touches for some seconds are kept by kernels: they are not all to be busy.
  const pauseMs = onlyFault === undefined && random.coin() ? 300 : 2_500;
  const steps: Step[] = [];
  for (let client = 0; client < clients; client++) {
    for (let program = 0; program < (settings.programs ?? 2); program++) {
      for (let n = 0, atMs = 0; n < (isLong ? 150 : 16); n++) {
        atMs += random.below(pauseMs);
        const step = oneStep(random, { client, program, atMs }, powers);
        steps.push(step);
        // A program that looks again, soon.
        if (step.do === "read" && random.coin()) steps.push({ ...step, atMs: (atMs += random.below(600)) });
      }
    }
  }
  const lastsMs = Math.max(...steps.map(({ atMs }) => atMs));
  const faults: Fault[] = [];
  const usual = FAULTS.filter((kind) => isAllowed(kind, powers));
  if (onlyFault !== undefined) faults.push({ atMs: 0, kind: onlyFault, client: 0, lastsMs });
  else {
    for (let atMs = random.below(4_000); atMs < lastsMs + 3_000; atMs += 1 + random.below(8_000))
      faults.push(oneFault(random, atMs, settings.faults ?? usual, settings.faults === undefined ? clients : 1));
    for (const fault of faults) fault.lastsMs += settings.faultsLongerMs ?? 0;
  }
  const hows = OUTSIDE.filter((how) => how !== "mapped" || powers.has("mapped"));
  const hasOutside = powers.has("outside") && onlyFault === undefined && random.coin();
  const outside = hasOutside ? outsideOf(random, lastsMs, hows) : [];
  const isLarge = settings.isLarge ?? (areColleagues || (powers.has("large") && !isLong && random.coin(0.15)));
  if (isLarge) enlarge(random, steps);
  if (settings.isEdited === true) editInstead(steps);
  if (settings.isSavedAnew === true) saveAnew(steps);
  return {
    seed,
    ...(outside.length > 0 || isLarge ? { serverDiskMs: 1 + random.below(20) } : {}),
    ...(outside.length > 0 ? { outside } : {}),
    ...(areColleagues ? { colleagues: colleaguesOf(seed, clients, settings.lies ?? LIES) } : {}),
    ...(powers.has("unsent") ? { followsUnsent: true } : {}),
    termMs: settings.termMs ?? (random.coin(0.7) && onlyFault !== "slowAgent" ? 5_000 : 20_000),
    clients: Array.from({ length: clients }, (_, index) => {
      const [delayMs, jitterMs] = [5 + random.below(60), random.below(20)];
      return { delayMs: (index === 0 ? settings.delayMs : undefined) ?? delayMs, jitterMs };
    }),
    steps,
    faults,
  };
}

function colleaguesOf(seed: number, clients: number, lies: readonly Lie[]): NonNullable<Plan["colleagues"]> {
  const random = new SeededRandom(seed ^ COLLEAGUES_SEED);
  const hostile = Array.from({ length: clients }, (_, index) => index).filter(() => random.coin(HOSTILE_SHARE));
  return { hostile, lies: [...lies] };
}

function quietPlan(seed: number, random: SeededRandom): Plan {
  const clients = Array.from({ length: 3 }, () => ({ delayMs: 5 + random.below(60), jitterMs: random.below(20) }));
  const steps: Step[] = [];
  for (let client = 0; client < clients.length; client++) {
    for (let n = 0, atMs = 0; n < 60; n++) {
      atMs += random.below(200);
      const share = random.below(100);
      const doing = QUIET_SHARES.find(([below]) => share < below)?.[1] ?? "rename";
      const [path, toPath] = [quietPath(random), quietPath(random)];
      steps.push({ client, program: n % 2, atMs, do: doing, path, toPath, sizeBytes: 10 });
    }
  }
  return { seed, termMs: 5_000, clients, steps, faults: [] };
}

function quietPath(random: SeededRandom): string {
  return NAMES[random.below(NAMES.length)] ?? "";
}

function oneStep(
  random: SeededRandom,
  at: Pick<Step, "client" | "program" | "atMs">,
  powers: ReadonlySet<Power>,
): Step {
  const share = random.below(100);
  const chosen = SHARES.find(([below]) => share < below)?.[1] ?? "rename";
  const doing = VERBS.has(chosen) && !powers.has("verbs") ? "read" : chosen;
  const path = onePath(random);
  if (doing === "list") return { ...at, do: doing, path: FOLDERS[random.below(FOLDERS.length)] ?? "" };
  if (doing === "flush") return { ...at, do: doing, path: "" };
  if (doing === "removeTree") return { ...at, do: doing, path: random.coin() ? "d" : path };
  if (doing === "make") return { ...at, do: doing, path: random.coin() ? "d" : "e" };
  if (doing === "rename" || doing === "link") return { ...at, do: doing, path, toPath: onePath(random) };
  const holds = random.coin(0.15) ? { holdsMs: random.below(HOLDS_MS) } : {};
  if (doing === "write" || doing === "save")
    return { ...at, do: doing, path, sizeBytes: SIZES[random.below(SIZES.length)] ?? 0, ...holds };
  return { ...at, do: doing, path, ...(doing === "edit" ? holds : {}) };
}

function isAllowed(kind: Fault["kind"], powers: ReadonlySet<Power>): boolean {
  const power = NEEDS[kind];
  return power === undefined || powers.has(power);
}

/** A run with one fault from its begin to its end, and no other. */
function lastingFault(random: SeededRandom, powers: ReadonlySet<Power>): Fault["kind"] | undefined {
  if (random.coin(0.02)) return "noAcks";
  return powers.has("slowAgent") && random.coin(0.04) ? "slowAgent" : undefined;
}

/** Often within milliseconds of a save. */
function outsideOf(random: SeededRandom, lastsMs: number, hows: readonly OutsideStep["how"][]): OutsideStep[] {
  const steps: OutsideStep[] = [];
  for (let atMs = random.below(3_000); atMs < lastsMs; atMs += 1 + random.below(2_500)) {
    const beside = random.coin(0.8) ? ({ beside: random.coin(0.4) ? "begin" : "end" } as const) : {};
    const lateMs = random.below(random.coin() ? 6 : random.coin(0.8) ? 60 : 1_500);
    const how = hows[random.below(hows.length)] ?? "inPlace";
    steps.push({ atMs, how, path: onePath(random), ...beside, lateMs, pieces: 1 + random.below(3) });
  }
  return steps;
}

/** Two files are large, and what is done is mostly done to them, by programs that take their time. */
function enlarge(random: SeededRandom, steps: Step[]): void {
  for (const step of steps) {
    if (step.do === "write") step.sizeBytes = LARGE_BYTES + random.below(10_000);
    if (step.do !== "write" && step.do !== "edit") continue;
    step.path = random.coin() ? "a" : "d/b";
    if (random.coin(0.3)) step.holdsMs = random.below(HOLDS_MS);
  }
}

function editInstead(steps: Step[]): void {
  for (const step of steps) {
    if (step.do === "write" || step.do === "save") step.sizeBytes = Math.max(...SIZES);
    if (step.do === "read") step.do = "edit";
  }
}

function saveAnew(steps: Step[]): void {
  for (const step of steps) {
    if (step.do === "write" || step.do === "remove" || step.do === "link") step.do = "save";
    if (step.do === "save") [step.path, step.sizeBytes] = ["a", Math.max(...SIZES)];
    if (step.do === "edit") step.path = "a";
  }
}

function onePath(random: SeededRandom): string {
  return `${FOLDERS[random.below(FOLDERS.length)] ?? ""}${NAMES[random.below(NAMES.length)] ?? ""}`;
}

/** Some last long, most do not: much of a run is to be within leases. */
function oneFault(random: SeededRandom, atMs: number, kinds: readonly Fault["kind"][], clients: number): Fault {
  const lastsMs = random.below(random.coin(0.1) ? 60_000 : 4_000);
  const kind = kinds[random.below(kinds.length)] ?? "cut";
  return { atMs, kind, client: random.below(clients), lastsMs };
}
