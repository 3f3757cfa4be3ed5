// Help: the agent that runs, and the commands of a terminal that say more.
import type { ReactNode } from "react";
import { useAnswer } from "@runnel/shared/ui/use-answer.ts";
import { Moment } from "@runnel/shared/ui/widgets/moment.tsx";
import { Skeleton } from "@runnel/shared/ui/widgets/notice.tsx";
import { say, useAgent } from "../agent.ts";

interface Status {
  agent: { pid: number; version: string; home: string; startedMs: number };
}

const COMMANDS = [
  ["runnel status", "helpStatus"],
  ["runnel unsent", "helpUnsent"],
  ["runnel stop", "helpStop"],
] as const;
const NOTHING = {};

export function HelpView(): ReactNode {
  const { calls } = useAgent();
  const { result, problem } = useAnswer<Status>(calls, "status", NOTHING);
  return (
    <>
      <section className="card">
        <header>
          <h2>{say("helpAgent")}</h2>
        </header>
        <div className="pad">
          {problem !== "" && <p className="error">{problem}</p>}
          {result === undefined ? (
            <Skeleton height={104} />
          ) : (
            <dl className="pairs">
              <dt>{say("helpVersion")}</dt>
              <dd>{result.agent.version}</dd>
              <dt>{say("helpProcess")}</dt>
              <dd>{result.agent.pid}</dd>
              <dt>{say("helpHome")}</dt>
              <dd>{result.agent.home}</dd>
              <dt>{say("helpSince")}</dt>
              <dd>
                <Moment atMs={result.agent.startedMs} />
              </dd>
            </dl>
          )}
        </div>
      </section>
      <section className="card">
        <header>
          <h2>{say("helpCommands")}</h2>
        </header>
        <dl className="pairs pad">
          {COMMANDS.map(([command, word]) => (
            <div key={command} style={{ display: "contents" }}>
              <dt>
                <code>{command}</code>
              </dt>
              <dd>{say(word)}</dd>
            </div>
          ))}
        </dl>
      </section>
    </>
  );
}
