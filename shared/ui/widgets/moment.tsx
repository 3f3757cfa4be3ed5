// A time that is written relative to now and follows the clock; who points at it sees it in full.
import { type ReactNode, useEffect, useState } from "react";
import { formatAgo, formatMoment } from "../format.ts";
import { Tip } from "./tip.tsx";

const EVERY_MS = 30_000;

export function Moment({ atMs }: { atMs: number }): ReactNode {
  const [nowMs, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <Tip text={formatMoment(atMs)}>
      <time dateTime={new Date(atMs).toISOString()}>{formatAgo(atMs, nowMs)}</time>
    </Tip>
  );
}
