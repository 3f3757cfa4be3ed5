// Conflicts: files that were changed in two places at once. Both are kept; this names the two, and opens them.
import { Check, Ellipsis, File, Files, FolderOpen } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useAnswer } from "@runnel/shared/ui/use-answer.ts";
import { Button, IconButton } from "@runnel/shared/ui/widgets/button.tsx";
import { Menu } from "@runnel/shared/ui/widgets/menu.tsx";
import { Moment } from "@runnel/shared/ui/widgets/moment.tsx";
import { Empty, Notice, Pending, Skeleton } from "@runnel/shared/ui/widgets/notice.tsx";
import { type AgentView, say, useAgent } from "../agent.ts";
import { nameOf } from "./home.tsx";

interface Conflict {
  path: string;
  /** Path of the other content; null: it is among the server's old versions, which no drive can read. */
  conflictCopy: string | null;
  /** Device that saved it last; absent where a program on the server was one of the two. */
  by?: string;
  atMs: number;
}

interface Status {
  mounts: { mountpoint: string; conflicts: Conflict[]; server: { conflicts: Conflict[] } | null }[];
}

interface ConflictRowProps extends Conflict {
  mountpoint: string;
  /** Asks for the list once more. */
  again(): void;
}

const ICON = 18;

export function ConflictsView({ view: { shown } }: { view: AgentView }): ReactNode {
  const { calls } = useAgent();
  // Asked again as often as their number changes.
  const numbers = shown?.lists.drives?.map(({ conflicts }) => conflicts) ?? [];
  const { result, problem, again } = useAnswer<Status>(calls, "status", { asksServer: true, numbers });
  const conflicts = result?.mounts.flatMap(({ mountpoint, conflicts: own, server }) => [
    ...own.map((each) => ({ mountpoint, ...each })),
    ...(server?.conflicts ?? []).map((each) => ({ mountpoint, ...each })),
  ]);
  return (
    <section className="card">
      <header>
        <h2>{say("conflictsTitle")}</h2>
      </header>
      {problem !== "" ? (
        <Notice
          tone="danger"
          icon={<Files size={ICON} aria-hidden="true" />}
          action={<Button onClick={again}>{say("tryAgain")}</Button>}
        >
          {problem}
        </Notice>
      ) : conflicts === undefined ? (
        <Pending>
          <Skeleton height={40} />
        </Pending>
      ) : conflicts.length === 0 ? (
        <Empty icon={<Files size={28} aria-hidden="true" />} title={say("conflictsNone")}>
          {say("conflictsNoneHint")}
        </Empty>
      ) : (
        <ul className="items">
          {conflicts
            .toSorted((one, other) => other.atMs - one.atMs)
            .map((conflict) => (
              <ConflictRow
                key={`${conflict.mountpoint}/${conflict.path} ${conflict.conflictCopy} ${conflict.atMs}`}
                {...conflict}
                again={again}
              />
            ))}
        </ul>
      )}
    </section>
  );
}

function ConflictRow({ mountpoint, path, conflictCopy, by, atMs, again }: ConflictRowProps): ReactNode {
  const { calls } = useAgent();
  const [problem, setProblem] = useState("");
  const name = `${nameOf(mountpoint)}/${path}`;
  const open = (opened: string, shows: boolean): void => {
    calls.ask("open", { mountpoint, path: opened, shows }).then(
      () => setProblem(""),
      (error: Error) => setProblem(error.message),
    );
  };
  const settle = (): void => {
    calls.ask("settle", { path: `${mountpoint}/${path}` }).then(again, (error: Error) => setProblem(error.message));
  };
  const file = <File size={16} aria-hidden="true" />;
  return (
    <li>
      <Files size={ICON} aria-hidden="true" />
      <div>
        <p>{say("conflictBoth", { path: name })}</p>
        <p className="small quiet">
          {conflictCopy === null
            ? say("conflictOld")
            : say(by === undefined ? "conflictMine" : "conflictCopy", { copy: conflictCopy })}
        </p>
        <div className="details small quiet">
          <span>{by === undefined ? say("conflictThere") : say("conflictBy", { by })}</span>
          <Moment atMs={atMs} />
        </div>
        {problem !== "" && <p className="small error">{problem}</p>}
      </div>
      <Menu
        items={[
          { label: say("conflictOpen"), icon: file, choose: () => open(path, false) },
          ...(conflictCopy === null
            ? []
            : [{ label: say("conflictOpenOther"), icon: file, choose: () => open(conflictCopy, false) }]),
          {
            label: say(conflictCopy === null ? "conflictShowOne" : "conflictShow"),
            icon: <FolderOpen size={16} aria-hidden="true" />,
            choose: () => open(path, true),
          },
          ...(by === undefined
            ? []
            : [{ label: say("conflictSettle"), icon: <Check size={16} aria-hidden="true" />, choose: settle }]),
        ]}
      >
        <IconButton label={say("conflictMenu", { path: name })} icon={<Ellipsis size={ICON} />} />
      </Menu>
    </li>
  );
}
