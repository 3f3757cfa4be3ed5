import { fuseRig } from "./fuse-rig.ts";
const contentOf = (round: number): string => `${round} `.repeat(1 + ((round * 37) % 400));
const rig = await fuseRig();
const { agent } = rig;
await agent.remoteWrite("a", Buffer.from(contentOf(0)));
const forMs = Number(process.argv[2] ?? 10000);
const shells = [1,2].map(() => rig.shell(`end=$(($(date +%s)+${Math.min(12,Math.floor(forMs/1000))})); n=0; while [ $(date +%s) -lt $end ]; do for i in 1 2 3 4 5 6 7 8 9 10; do cat ${rig.mountpoint}/a >/dev/null || exit 7; done; done`));
const readings = [1, 2, 3].map(() => rig.readOften("a", forMs));
let round = 0;
for (const end = performance.now() + forMs; performance.now() < end; ) {
  round++;
  if (round % 3 === 0) {
    await agent.remoteWrite("b", Buffer.from(contentOf(round)));
    await agent.remoteRename("b", "a");
  } else await agent.remoteWrite("a", Buffer.from(contentOf(round)));
  await new Promise((r) => setTimeout(r, Math.random() * Number(process.argv[3] ?? 10)));
}
const known = new Set(Array.from({ length: round + 1 }, (_, each) => contentOf(each)));
for (const r of readings) {
  const { count, seen } = await r;
  console.log(count, seen.length, "bad:", seen.filter((s) => !known.has(s)).map((s) => `${s.slice(0, 30)} len ${s.length} want ${contentOf(parseInt(s)).length}`));
}
console.log(await Promise.all(shells));
console.log("rounds", round, JSON.stringify((await agent.statistics()).passed), JSON.stringify((await agent.statistics()).native));
await rig.close();
