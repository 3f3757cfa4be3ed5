// Help: the agent that runs, and the commands of a terminal that say more.
import { CircleCheck, TriangleAlert } from "lucide-react";
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
const LAST_LINES = { lines: 200 };
const DOCTOR_AGAIN_MS = 5_000;

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
      <Doctor />
      <Log />
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

interface Checks {
  checks: { about: string; isFine: boolean; sentence: string; next: string | null }[];
}

/** Checks for what keeps drives from working, looked at again for as long as the page is seen. */
function Doctor(): ReactNode {
  const { calls } = useAgent();
  const { result, problem } = useAnswer<Checks>(calls, "doctor", NOTHING, DOCTOR_AGAIN_MS);
  return (
    <section className="card">
      <header>
        <h2>{say("doctorTitle")}</h2>
      </header>
      {problem !== "" && <p className="error pad">{problem}</p>}
      {result === undefined ? (
        <div className="pad">
          <Skeleton height={104} />
        </div>
      ) : (
        <ul className="items">
          {result.checks.map(({ about, isFine, sentence, next }) => (
            <li key={about}>
              {isFine ? (
                <CircleCheck size={18} className="state fine" aria-label={say("doctorFine")} />
              ) : (
                <TriangleAlert size={18} className="state attention" aria-label={say("doctorLook")} />
              )}
              <div>
                <p>
                  <strong>{about}</strong> <span className="quiet">{sentence}</span>
                </p>
                {next !== null && <p className="small">{next}</p>}
              </div>
              <span />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** The last lines of the log, for who asks for help. */
function Log(): ReactNode {
  const { calls } = useAgent();
  const { result, problem } = useAnswer<{ lines: string[] }>(calls, "log", LAST_LINES, DOCTOR_AGAIN_MS);
  return (
    <section className="card">
      <details className="pad">
        <summary>{say("logTitle")}</summary>
        {problem !== "" && <p className="error">{problem}</p>}
        <pre className="log" tabIndex={0} aria-label={say("logTitle")}>
          {result === undefined || result.lines.length === 0 ? say("logEmpty") : result.lines.join("\n")}
        </pre>
      </details>
    </section>
  );
}
