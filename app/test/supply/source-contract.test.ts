// A folder keeps the contract of sources.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sourceContract } from "../transfer/sources/chunk-source-contract.ts";
import { SupplyRig } from "./supply-rig.ts";

sourceContract("A folder", async ({ bytes }) => {
  const rig = await SupplyRig.make();
  await writeFile(join(rig.path, "copy"), bytes);
  await rig.scan();
  return { source: rig.source, close: () => rig[Symbol.asyncDispose]() };
});
