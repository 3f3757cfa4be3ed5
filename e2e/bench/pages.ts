// `pages`: what open pages cost a transfer. A file is saved through a drive while ten pages follow it, half of them the
// console's and half the agent's, and while nobody looks. The pages are their connections without a browser: drawing
// them is the browser's own work.
import { type ConsolePage, openConsolePage } from "../src/harness/clients/console-page.ts";
import { Control, Sandbox, onMountInNode } from "../src/harness/index.ts";
import { type BenchContext, type Benchmark, type Result, formatTable, measurePairs } from "./benchmark.ts";
import * as work from "./work.ts";

const MiB = 1024 * 1024;
const BYTES = { full: 256 * MiB, small: 64 * MiB, tiny: 8 * MiB };
const PAGES_EACH = 5;
const DEADLINE_MS = 300_000;

export const pagesBenchmark: Benchmark = {
  name: "pages",
  about: `a save of new data, while ${2 * PAGES_EACH} pages follow it; --size full|small|tiny`,
  async run(context: BenchContext): Promise<Result> {
    const bytes = BYTES[context.size];
    const sandbox = new Sandbox(DEADLINE_MS * context.rounds);
    try {
      const data = sandbox.path("data");
      const server = await sandbox.startServer({ volumes: { docs: sandbox.makeFolder("served") }, data });
      const device = sandbox.device();
      const drive = sandbox.makeFolder("drive");
      await device.mount(`${server.url}/docs`, drive);
      let seed = 1;
      const save = async (): Promise<number> => {
        const task = { folder: drive, bytes, count: 1, request: MiB, seed: seed++ };
        const tookMs = await onMountInNode(work.writeAndSync, task, { deadlineMs: DEADLINE_MS });
        return bytes / MiB / (tookMs / 1000);
      };
      const watched = async (): Promise<number> => {
        const pages: ConsolePage[] = [];
        const windows: Control[] = [];
        let parts = 0;
        try {
          for (let count = 0; count < PAGES_EACH; count++) {
            const page = await openConsolePage(device, data);
            pages.push(page);
            page.ask("view", { wants: ["volumes", "connections", "transfers"] }, () => parts++).catch(() => undefined);
            const window = await Control.of(device);
            windows.push(window);
            window.ask({ verb: "view", wants: ["drives", "transfers", "lately"] }).catch(() => undefined);
          }
          const figure = await save();
          if (parts < 2 * PAGES_EACH) throw new Error(`The pages were told ${parts} times.`);
          return figure;
        } finally {
          for (const page of pages) page.close();
          for (const window of windows) window.close();
        }
      };
      const pair = {
        what: `save ${bytes / MiB} MiB, ${2 * PAGES_EACH} pages open`,
        unit: "MiB/s",
        reference: "no page open",
        measure: watched,
        measureReference: save,
      };
      const rows = await measurePairs([pair], context);
      return { rows, table: formatTable("pages", rows) };
    } finally {
      await sandbox.cleanup();
    }
  },
};
