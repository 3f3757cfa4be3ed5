// Makes the settings of a recorded run from its seed; and says what each mutant needs to have a chance.
import { SeededRandom } from "@runnel/shared";
import { DISTURBANCES, type DisturbanceSettings } from "./disturbances.ts";
import type { RecordSettings } from "./record.ts";

type Needs = Partial<Omit<RecordSettings, "disturbances">> & { disturbances?: Partial<DisturbanceSettings> };

/**
 * Mutants by their names in mutants.ts. Some are for the simulation alone: that of suspend; that of a kernel which is
 * not told, since a real one asks again within a second, and at each open; and those of mode async, in which no run is
 * recorded.
 */
export const NEEDS: ReadonlyMap<string, Needs> = new Map<string, Needs>([
  ["an acknowledgement before the entry table changes", { disturbances: { kinds: [] } }],
  [
    "a lease counted from the receipt",
    {
      termSeconds: 3,
      rttsMs: [600, 600, 20],
      programs: ["changes", "changes", "changes", "reads", "lists", "lists", "lists"],
      disturbances: {
        kinds: ["blackHole", "newDevice"],
        clients: 2,
        lastsMs: [4_000, 5_000],
        betweenMs: [1_500, 2_500],
      },
    },
  ],
  ["a feed item lost on the way back", { disturbances: { kinds: ["cut"], betweenMs: [300, 1_000] } }],
  ["one acknowledgement is enough", { rttsMs: [140, 20, 20], disturbances: { kinds: [] } }],
  [
    "leases forgotten at a restart",
    {
      termSeconds: 10,
      disturbances: { kinds: ["serverPowerCut"], lastsMs: [3_000, 4_500], betweenMs: [2_000, 4_000] },
    },
  ],
  ["a listing read before an item is stored after it", { disturbances: { kinds: ["newDevice"] } }],
  ["a renewal while an acknowledgement is overdue", { termSeconds: 5, isFirstMute: true, disturbances: { kinds: [] } }],
  ["a retry executed twice", { disturbances: { kinds: ["cut"], betweenMs: [300, 1_000] } }],
]);

/** Factor by which a run may last longer than asked. */
const LONGER = 3;
const RTT_MS = [20, 40] as const;
const TERMS_SECONDS = [3, 5];

/** `mutant`: with this fault in the product. */
export function settingsOf(seed: number, lastsMs: number, mutant?: string): RecordSettings {
  const random = new SeededRandom(seed);
  const clients = random.coin(0.5) ? 3 : 2;
  const [least, most] = RTT_MS;
  const { disturbances, ...rest } = (mutant === undefined ? undefined : NEEDS.get(mutant)) ?? {};
  return {
    seed,
    lastsMs,
    ...(mutant === undefined ? { untilMs: LONGER * lastsMs } : {}),
    termSeconds: TERMS_SECONDS[random.below(TERMS_SECONDS.length)] ?? 0,
    rttsMs: Array.from({ length: clients }, () => least + random.below(most - least + 1)),
    programs: ["changes", "changes", "changes", "changes", "reads", "lists"],
    mutant,
    ...rest,
    disturbances: {
      kinds: DISTURBANCES,
      betweenMs: [2_000, 5_000],
      lastsMs: [0, 1_500],
      clients: Infinity,
      ...disturbances,
    },
  };
}
