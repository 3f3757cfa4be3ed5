// Runs suites one after the other, each on a drive of its own: one that spoils its drive spoils no other.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Place, buildPassthrough, openDrive, openPassthrough } from "./place.ts";
import type { SuiteReport } from "./report.ts";
import { type Suite, type SuiteRun, runSuite } from "./suite.ts";

export interface RunSuitesOptions {
  /** A suite that failed is run on passthrough_hp too. */
  hasBaseline: boolean;
  /** Deadline of each run of a suite. */
  deadlineMs: number;
}

async function runIn(
  opening: Promise<Place>,
  suite: Suite,
  options: { label: string; deadlineMs: number },
): Promise<SuiteRun & { complaints: string[] }> {
  const { folder, env, complaints, close } = await opening;
  try {
    const ran = await runSuite(suite, folder, { ...options, env });
    return { ...ran, complaints: await complaints() };
  } finally {
    await close();
  }
}

/** libfuse's passthrough_hp, built when it is first wanted. */
class Baseline {
  readonly #folder = mkdtempSync(join(tmpdir(), "rnl-"));
  #built: Promise<string> | undefined;

  async run(suite: Suite, deadlineMs: number): Promise<SuiteRun> {
    this.#built ??= buildPassthrough(join(this.#folder, "passthrough_hp"));
    const opening = openPassthrough(await this.#built, deadlineMs);
    const { complaints: _none, ...ran } = await runIn(opening, suite, { label: "passthrough", deadlineMs });
    return ran;
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

export async function* runSuites(suites: readonly Suite[], options: RunSuitesOptions): AsyncGenerator<SuiteReport> {
  const { hasBaseline, deadlineMs } = options;
  const baseline = new Baseline();
  try {
    for (const suite of suites) {
      const { complaints, ...ran } = await runIn(openDrive(deadlineMs), suite, { label: "drive", deadlineMs });
      const isCompared = hasBaseline && ran.failed > 0;
      const compared = isCompared ? await baseline.run(suite, deadlineMs) : undefined;
      yield { name: suite.name, run: ran, baseline: compared, complaints };
    }
  } finally {
    baseline.close();
  }
}
