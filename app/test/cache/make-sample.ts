// Makes the sample of the current format of the cache's index. Run once for each format that is released: node
// app/test/cache/make-sample.ts <file>
import { copyFileSync } from "node:fs";
import { CacheMachine } from "./cache-machine.ts";

const machine = new CacheMachine();
const cache = await machine.open();
const sample = await machine.sample(1, 60_000);
const { content: named } = await cache.create({ node: 2 ** 40, seq: 2 ** 35 }, 60_000);
await cache.write(named, 5000, sample.bytes.subarray(5000));
cache.setRecipe(named, sample.recipe, sample.oid);
await cache.create({ node: 3, seq: 4 }, 2 ** 45);
await cache.close();
copyFileSync(machine.indexPath, process.argv[2] ?? "cache.sqlite");
machine.clean();
