// A chart of bytes over time: what programs worked with, and what of it crossed the wire. It is drawn on a canvas, in
// the colours of the page; a table beside it says the same to who cannot see it. In a chunk of its own, since few pages
// have one.
import { type ReactNode, useEffect, useRef } from "react";
import UPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { formatBytes, formatClockTime, formatDay } from "../format.ts";
import { SERIES_COLOURS } from "./legend.tsx";

export interface ChartSeries {
  label: string;
  /** Bytes at each time. */
  bytes: readonly number[];
}

interface ChartProps {
  label: string;
  /** Times in milliseconds, ascending. */
  timesMs: readonly number[];
  series: readonly ChartSeries[];
  heightPixels: number;
  /** A step is a day, not an hour. */
  isDaily: boolean;
}

const MS = 1000;
const DAY_SECONDS = 24 * 3600;
/** Height of the lowest bar: of what is nothing beside the rest one sees that it is there. The table has its figure. */
const BAR_PIXELS_MIN = 3;
/** Height that the labels of the times take. */
const AXIS_PIXELS = 50;

export function Chart({ label, timesMs, series, heightPixels, isDaily }: ChartProps): ReactNode {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const colour = (name: string): string => resolved(element, name);
    const axis = {
      stroke: colour("--text-quiet"),
      grid: { stroke: colour("--line"), width: 1 },
      ticks: { show: false },
      font: `11px ${getComputedStyle(element).fontFamily}`,
    };
    const span = spanOf(timesMs, isDaily);
    const most = Math.max(...series.flatMap(({ bytes }) => bytes));
    const floor = (most * BAR_PIXELS_MIN) / (heightPixels - AXIS_PIXELS);
    const bars = UPlot.paths.bars?.({ size: [0.7, 24], radius: 0.1 });
    const draw = (): UPlot =>
      new UPlot(
        {
          width: element.clientWidth,
          height: heightPixels,
          legend: { show: false },
          cursor: { show: false },
          scales: {
            x: { time: true, range: () => span },
            y: { range: (_plot, _min, max) => [0, Math.max(1, max)] },
          },
          axes: [
            {
              ...axis,
              values: (_plot, ticks) => ticks.map((at) => (isDaily ? formatDay(at * MS) : formatClockTime(at * MS))),
            },
            { ...axis, size: 64, values: (_plot, ticks) => ticks.map(formatBytes) },
          ],
          series: [
            {},
            ...series.map(({ label: name }, index) => ({
              label: name,
              fill: colour(SERIES_COLOURS[index] ?? "--series-1"),
              ...(bars === undefined ? {} : { paths: bars }),
              points: { show: false },
            })),
          ],
        },
        [timesMs.map((at) => at / MS), ...series.map(({ bytes }) => bytes.map((each) => visible(each, floor)))],
        element,
      );
    let plot = draw();
    const redraw = (): void => {
      plot.destroy();
      plot = draw();
    };
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", redraw);
    const size = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: heightPixels }));
    size.observe(element);
    return () => {
      scheme.removeEventListener("change", redraw);
      size.disconnect();
      plot.destroy();
    };
  }, [timesMs, series, heightPixels, isDaily]);
  return <div ref={place} role="img" aria-label={label} style={{ height: heightPixels }} />;
}

function visible(bytes: number, floor: number): number {
  return bytes === 0 ? 0 : Math.max(floor, bytes);
}

/** Returns the seconds that are shown: a day from midnight on, or all days with the bars of both ends whole. */
function spanOf(timesMs: readonly number[], isDaily: boolean): [from: number, to: number] {
  const [first = Date.now(), last = first] = [timesMs[0], timesMs.at(-1)];
  if (isDaily) return [first / MS - DAY_SECONDS / 2, last / MS + DAY_SECONDS / 2];
  const midnight = new Date(first).setHours(0, 0, 0, 0) / MS;
  return [midnight, midnight + DAY_SECONDS];
}

/** A canvas knows no variables and no light-dark(): the browser says what the colour is. */
function resolved(within: HTMLElement, variable: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${variable})`;
  within.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
