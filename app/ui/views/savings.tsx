// Savings: how much of what programs worked with did not have to cross the wire, and where the rest came from.
import { ChartColumn, Download } from "lucide-react";
import { lazy, type ReactNode, Suspense, useMemo, useState } from "react";
import { formatBytes, formatMoment } from "../../../shared/ui/format.ts";
import { useAnswer } from "../../../shared/ui/use-answer.ts";
import { Button } from "../../../shared/ui/widgets/button.tsx";
import { Empty, Skeleton } from "../../../shared/ui/widgets/notice.tsx";
import { say, useAgent } from "../agent.ts";

const Chart = lazy(async () => ({ default: (await import("../../../shared/ui/widgets/chart.tsx")).Chart }));
const CHART_PIXELS = 180;
const PERIODS = ["today", "week", "month", "all"] as const;
type Period = (typeof PERIODS)[number];
const PERIOD_WORDS = { today: "periodToday", week: "periodWeek", month: "periodMonth", all: "periodAll" } as const;

interface Savings {
  workedBytes: number;
  crossedBytes: number;
  origins: { origin: string; bytes: number }[];
  steps: { atMs: number; workedBytes: number; crossedBytes: number }[];
}

export function SavingsView(): ReactNode {
  const { calls } = useAgent();
  const [period, setPeriod] = useState<Period>("today");
  const { result, problem } = useAnswer<Savings>(calls, "savings", { period });
  return (
    <section className="card">
      <header>
        <h2>{say("savingsTitle")}</h2>
        <div className="choices" role="radiogroup" aria-label={say("periodLabel")}>
          {PERIODS.map((each) => (
            <button
              key={each}
              type="button"
              role="radio"
              aria-checked={each === period}
              onClick={() => setPeriod(each)}
            >
              {say(PERIOD_WORDS[each])}
            </button>
          ))}
        </div>
      </header>
      {problem !== "" && <p className="pad error">{problem}</p>}
      {result === undefined ? (
        <div className="pad">
          <Skeleton height={40} />
          <Skeleton height={CHART_PIXELS} />
        </div>
      ) : result.workedBytes === 0 && result.crossedBytes === 0 ? (
        <Empty icon={<ChartColumn size={28} aria-hidden="true" />} title={say("savingsNone")}>
          {say("savingsNoneHint")}
        </Empty>
      ) : (
        <Figures savings={result} period={period} />
      )}
    </section>
  );
}

function Figures({ savings, period }: { savings: Savings; period: Period }): ReactNode {
  const { workedBytes, crossedBytes, origins, steps } = savings;
  const [timesMs, series] = useMemo(
    () => [
      steps.map(({ atMs }) => atMs),
      [
        { label: say("savingsWorked"), bytes: steps.map((step) => step.workedBytes) },
        { label: say("savingsCrossed"), bytes: steps.map((step) => step.crossedBytes) },
      ],
    ],
    [steps],
  );
  return (
    <div className="pad">
      <p>{say("savingsSentence", { period, worked: formatBytes(workedBytes), crossed: formatBytes(crossedBytes) })}</p>
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
        {origins.map(({ origin, bytes }) => (
          <div key={origin} style={{ display: "contents" }}>
            <dt>{origin}</dt>
            <dd>{formatBytes(bytes)}</dd>
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
            {steps.map((step) => (
              <tr key={step.atMs}>
                <td>{formatMoment(step.atMs)}</td>
                <td className="number">{formatBytes(step.workedBytes)}</td>
                <td className="number">{formatBytes(step.crossedBytes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
      <p className="small quiet">{say("savingsCounts")}</p>
      <div>
        <Button icon={<Download size={16} aria-hidden="true" />}>{say("savingsCsv")}</Button>
      </div>
    </div>
  );
}
