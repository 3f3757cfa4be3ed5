// Help: the agent that runs, and the commands of a terminal that say more.
import { CircleCheck, TriangleAlert } from "lucide-react";
import { type ReactNode, useContext } from "react";
import { LineContext } from "@runnel/shared/ui/line-context.ts";
import { type Answered, useAnswer } from "@runnel/shared/ui/use-answer.ts";
import { Moment } from "@runnel/shared/ui/widgets/moment.tsx";
import { Failure, Pending, Skeleton } from "@runnel/shared/ui/widgets/notice.tsx";
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
const WITHOUT_SERVER = { asksServer: false };
const LAST_LINES = { lines: 200 };
const AGAIN_MS = 5_000;
const AGENT_PIXELS = 170;
const CHECKS_PIXELS = 220;

export function HelpView(): ReactNode {
  const { calls } = useAgent();
  const { isGone } = useContext(LineContext);
  const status = useAnswer<Status>(calls, "status", WITHOUT_SERVER);
  const doctor = useAnswer<Checks>(calls, "doctor", NOTHING, AGAIN_MS);
  const isAnswered = [status, doctor].every(({ result, problem }) => result !== undefined || problem !== "");
  return (
    <>
      {isAnswered ? (
        <>
          <Agent answer={status} />
          <Doctor answer={doctor} />
          <Log />
        </>
      ) : (
        <Pending>
          <Skeleton height={AGENT_PIXELS} />
          <Skeleton height={CHECKS_PIXELS} />
        </Pending>
      )}
      {/* Comes once it is known where it stands. */}
      {(isAnswered || isGone) && <Commands />}
    </>
  );
}

function Agent({ answer: { result, problem, again } }: { answer: Answered<Status> }): ReactNode {
  return (
    <section className="card">
      <header>
        <h2>{say("helpAgent")}</h2>
      </header>
      <Failure problem={problem} again={again} act={say("tryAgain")} />
      {result !== undefined && (
        <dl className="pairs pad">
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
    </section>
  );
}

function Commands(): ReactNode {
  return (
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
  );
}

interface Checks {
  checks: { about: string; isFine: boolean; sentence: string; next: string | null }[];
}

/** Checks for what keeps drives from working, looked at again for as long as the page is seen. */
function Doctor({ answer: { result, problem, again } }: { answer: Answered<Checks> }): ReactNode {
  return (
    <section className="card">
      <header>
        <h2>{say("doctorTitle")}</h2>
      </header>
      <Failure problem={problem} again={again} act={say("tryAgain")} />
      {result !== undefined && (
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
  const { result, problem } = useAnswer<{ lines: string[] }>(calls, "log", LAST_LINES, AGAIN_MS);
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
