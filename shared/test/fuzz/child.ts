// Campaigns in a process of their own: node child.ts '{"module", "name", "seed", "inputs", "isGuided", "inputPath"}';
// without a name all targets, one after another. The input under way lies in a file, for when the process does not live
// to tell of it; each line of its output is a sign of life, the last one the report.
import { openSync, writevSync } from "node:fs";
import { Campaign, type CampaignReport } from "./campaign.ts";
import { MemoryGrowth } from "./memory-growth.ts";
import type { Targets } from "./target.ts";

interface Order {
  module: string;
  name?: string;
  seed: number;
  inputs: number;
  isGuided: boolean;
  inputPath: string;
}

const order = JSON.parse(process.argv[2] ?? "") as Order;
const { targets } = (await import(order.module)) as { targets: Targets };
const file = openSync(order.inputPath, "w");
const length = new Uint32Array(1);
const whole: CampaignReport = { inputs: 0, kept: 0, covered: 0, grewBytes: 0, finding: undefined };
const memory = new MemoryGrowth();
let campaign: Campaign | undefined;
let current: Uint8Array = new Uint8Array(0);
process.on("unhandledRejection", (error) => campaign?.found("thrown", `not waited for: ${String(error)}`, current));
for (const [name, make] of Object.entries(targets)) {
  if (order.name !== undefined && order.name !== name) continue;
  campaign = new Campaign(await make(), {
    ...order,
    begins: (input) => {
      current = input;
      length[0] = input.length;
      writevSync(file, [length, input], 0);
    },
    goesOn: async (inputs) => {
      await memory.look(inputs / order.inputs);
      console.log(JSON.stringify({ name, inputs: whole.inputs + inputs }));
    },
  });
  const { inputs, kept, covered, finding } = await campaign.run();
  whole.inputs += inputs;
  whole.kept += kept;
  whole.covered += covered;
  whole.finding = finding && { ...finding, says: `${name}: ${finding.says}` };
  if (finding !== undefined) break;
}
whole.grewBytes = await memory.bytes();
console.log(JSON.stringify({ report: whole }));
process.exit(0);
