// Conflicts: files that were changed here and elsewhere at once. Both are kept; this names the two.
import { Files } from "lucide-react";
import type { ReactNode } from "react";
import { useAnswer } from "@runnel/shared/ui/use-answer.ts";
import { Button } from "@runnel/shared/ui/widgets/button.tsx";
import { Empty, Notice, Skeleton } from "@runnel/shared/ui/widgets/notice.tsx";
import { type AgentView, say, useAgent } from "../agent.ts";
import { nameOf } from "./home.tsx";

interface Status {
  mounts: { mountpoint: string; conflicts: { path: string; conflictCopy: string }[] }[];
}

export function ConflictsView({ view: { shown } }: { view: AgentView }): ReactNode {
  const { calls } = useAgent();
  // Asked again as often as their number changes.
  const numbers = shown?.lists.drives?.map(({ conflicts }) => conflicts) ?? [];
  const { result, problem, again } = useAnswer<Status>(calls, "status", { asksServer: false, numbers });
  const conflicts =
    result?.mounts.flatMap(({ mountpoint, conflicts: all }) => all.map((each) => ({ mountpoint, ...each }))) ?? [];
  return (
    <section className="card">
      <header>
        <h2>{say("conflictsTitle")}</h2>
      </header>
      {problem !== "" ? (
        <Notice
          tone="danger"
          icon={<Files size={18} aria-hidden="true" />}
          action={<Button onClick={again}>{say("tryAgain")}</Button>}
        >
          {problem}
        </Notice>
      ) : result === undefined ? (
        <div className="pad">
          <Skeleton height={40} />
        </div>
      ) : conflicts.length === 0 ? (
        <Empty icon={<Files size={28} aria-hidden="true" />} title={say("conflictsNone")}>
          {say("conflictsNoneHint")}
        </Empty>
      ) : (
        <ul className="items">
          {conflicts.map(({ mountpoint, path, conflictCopy }) => (
            <li key={`${mountpoint}/${conflictCopy}`}>
              <Files size={18} aria-hidden="true" />
              <div>
                <p>{say("conflictBoth", { path: `${nameOf(mountpoint)}/${path}` })}</p>
                <p className="small quiet">{say("conflictMine", { copy: conflictCopy })}</p>
              </div>
              <span />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
