// Recorded runs in a process of their own:
//     node main.ts SEED LASTS_MS [MUTANT]             with this fault in the product
//     node main.ts SEED LASTS_MS MUTANT unmutated     what that mutant needs, without it
// One line of JSON, with all calls.
import { record } from "./record.ts";
import { settingsOf } from "./settings.ts";

const [seed = "1", lastsMs = "20000", mutant, how] = process.argv.slice(2);
const settings = settingsOf(Number(seed), Number(lastsMs), mutant);
if (how === "unmutated") settings.mutant = undefined;
process.stdout.write(`${JSON.stringify(await record(settings))}\n`);
