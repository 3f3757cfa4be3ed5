// Savings: how much of what programs worked with did not have to cross the wire, and where the rest came from.
import { ChartColumn, Download } from "lucide-react";
import { lazy, type ReactNode, Suspense, useMemo, useState } from "react";
import { formatBytes, formatMoment } from "@runnel/shared/ui/format.ts";
import { useAnswer } from "@runnel/shared/ui/use-answer.ts";
import { Button } from "@runnel/shared/ui/widgets/button.tsx";
import { Legend } from "@runnel/shared/ui/widgets/legend.tsx";
import { Empty, Failure, Pending, Skeleton } from "@runnel/shared/ui/widgets/notice.tsx";
import { Choices } from "@runnel/shared/ui/widgets/select.tsx";
import type { Savings } from "../../src/agent/view/savings.ts";
import { say, useAgent } from "../agent.ts";

const Chart = lazy(async () => ({ default: (await import("@runnel/shared/ui/widgets/chart.tsx")).Chart }));
const CHART_PIXELS = 180;
const PERIODS = ["today", "week", "month", "all"] as const;
type Period = (typeof PERIODS)[number];
const PERIOD_WORDS = { today: "periodToday", week: "periodWeek", month: "periodMonth", all: "periodAll" } as const;

/** Answer of the verb savings, as far as this view shows it. */
interface Answer {
  total: Savings;
  rows: { fromMs: number | null; savings: Savings }[];
}

/** Rows are hours of the last day, or days. */
const ROWS: Record<Period, { by: "hour" | "day"; days: number; limit: number }> = {
  today: { by: "hour", days: 0, limit: 24 },
  week: { by: "day", days: 6, limit: 7 },
  month: { by: "day", days: 29, limit: 30 },
  all: { by: "day", days: Infinity, limit: 1000 },
};
const ORIGINS = [
  ["oldVersion", "originOldVersion"],
  ["otherFile", "originOtherFile"],
  ["compression", "originCompression"],
  ["colleague", "originColleague"],
  ["stick", "originStick"],
  ["oldFolder", "originOldFolder"],
  ["cache", "originCache"],
] as const;

/** Returns when a day of this computer's time zone began; 0 for Infinity days ago. */
function midnight(daysAgo: number): number {
  if (daysAgo === Infinity) return 0;
  const day = new Date();
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() - daysAgo).getTime();
}

export function SavingsView(): ReactNode {
  const { calls } = useAgent();
  const [period, setPeriod] = useState<Period>("today");
  const { by, days, limit } = ROWS[period];
  const { result, problem, again } = useAnswer<Answer>(calls, "savings", { sinceMs: midnight(days), by, limit });
  return (
    <section className="card">
      <header>
        <h2>{say("savingsTitle")}</h2>
        <Choices
          label={say("periodLabel")}
          value={period}
          choices={PERIODS.map((each) => ({ value: each, label: say(PERIOD_WORDS[each]) }))}
          change={(value) => setPeriod(value as Period)}
        />
      </header>
      <Failure problem={problem} again={again} act={say("tryAgain")} />
      {result === undefined ? (
        <Pending isFailed={problem !== ""}>
          <Skeleton height={40} />
          <Skeleton height={CHART_PIXELS} />
        </Pending>
      ) : workedBytes(result.total) === 0 && wireBytes(result.total) === 0 ? (
        <Empty icon={<ChartColumn size={28} aria-hidden="true" />} title={say("savingsNone")}>
          {say("savingsNoneHint")}
        </Empty>
      ) : (
        <Figures answer={result} period={period} />
      )}
    </section>
  );
}

function Figures({ answer: { total, rows }, period }: { answer: Answer; period: Period }): ReactNode {
  const { calls } = useAgent();
  const steps = useMemo(
    () =>
      rows
        .map(({ fromMs, savings }) => ({ atMs: fromMs ?? 0, worked: workedBytes(savings), wire: wireBytes(savings) }))
        .toReversed(),
    [rows],
  );
  const [timesMs, series] = useMemo(
    () => [
      steps.map(({ atMs }) => atMs),
      [
        { label: say("savingsWorked"), bytes: steps.map(({ worked }) => worked) },
        { label: say("savingsCrossed"), bytes: steps.map(({ wire }) => wire) },
      ],
    ],
    [steps],
  );
  const [problem, setProblem] = useState("");
  const save = (): void => {
    calls.ask<{ ticket: string }>("savingsFile").then(
      ({ ticket }) => {
        setProblem("");
        location.assign(`/files/${ticket}`);
      },
      (error: Error) => setProblem(error.message),
    );
  };
  return (
    <div className="pad">
      <p>
        {say("savingsSentence", {
          period,
          worked: formatBytes(workedBytes(total)),
          crossed: formatBytes(wireBytes(total)),
        })}
      </p>
      <Legend
        items={[
          { label: say("savingsWorked"), value: formatBytes(workedBytes(total)) },
          { label: say("savingsCrossed"), value: formatBytes(wireBytes(total)) },
        ]}
      />
      <Suspense fallback={<Skeleton height={CHART_PIXELS} />}>
        <Chart
          label={say("savingsChart")}
          timesMs={timesMs}
          series={series}
          heightPixels={CHART_PIXELS}
          isDaily={period !== "today"}
        />
      </Suspense>
      <h2>{say("savingsOrigin")}</h2>
      <dl className="pairs">
        {ORIGINS.filter(([origin]) => total.saved[origin] > 0).map(([origin, word]) => (
          <div key={origin} style={{ display: "contents" }}>
            <dt>{say(word)}</dt>
            <dd>{formatBytes(total.saved[origin])}</dd>
          </div>
        ))}
      </dl>
      <details>
        <summary>{say("savingsTable")}</summary>
        <table className="table">
          <thead>
            <tr>
              <th scope="col">{say("savingsWhen")}</th>
              <th scope="col" className="number">
                {say("savingsWorked")}
              </th>
              <th scope="col" className="number">
                {say("savingsCrossed")}
              </th>
            </tr>
          </thead>
          <tbody>
            {steps.map(({ atMs, worked, wire }) => (
              <tr key={atMs}>
                <td>{formatMoment(atMs)}</td>
                <td className="number">{formatBytes(worked)}</td>
                <td className="number">{formatBytes(wire)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
      <p className="small quiet">{say("savingsCounts")}</p>
      <div>
        <Button icon={<Download size={16} aria-hidden="true" />} onClick={save}>
          {say("savingsCsv")}
        </Button>
      </div>
      <Failure problem={problem} again={save} act={say("tryAgain")} />
    </div>
  );
}

function workedBytes({ readBytes, writtenBytes }: Savings): number {
  return readBytes + writtenBytes;
}

function wireBytes({ sentBytes, receivedBytes }: Savings): number {
  return sentBytes + receivedBytes;
}
