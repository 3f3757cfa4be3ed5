// The account of who is signed in: password, sessions, own devices.
import { CircleCheck, MonitorSmartphone } from "lucide-react";
import { type FormEvent, type ReactNode, useState } from "react";
import type { Answered } from "@runnel/shared/ui/use-answer.ts";
import { Badge } from "@runnel/shared/ui/widgets/badge.tsx";
import { Button } from "@runnel/shared/ui/widgets/button.tsx";
import { type Column, DataTable } from "@runnel/shared/ui/widgets/data-table.tsx";
import { Field } from "@runnel/shared/ui/widgets/field.tsx";
import { Moment } from "@runnel/shared/ui/widgets/moment.tsx";
import { Empty, Notice } from "@runnel/shared/ui/widgets/notice.tsx";
import type { DeviceRow, SessionRow } from "../api.ts";
import { browserName } from "../parts/browser-name.ts";
import { say, TABLE_WORDS, useConsole, useServer } from "../console.ts";
import { Devices } from "../parts/devices.tsx";
import { Failed } from "../parts/failed.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { NewPassword } from "../parts/person-forms.tsx";

export function AccountView(): ReactNode {
  const { me } = useConsole();
  const sessions = useServer<{ sessions: SessionRow[] }>("sessions");
  const isSessionsAnswered = sessions.result !== undefined || sessions.problem !== "";
  return (
    <>
      <PageHead title={say("navAccount")}>{say("accountHint")}</PageHead>
      {me.hasPassword && <Password />}
      <Sessions answer={sessions} />
      {/* Comes once it is known where it stands. */}
      {me.name !== "" && isSessionsAnswered && <OwnDevices />}
    </>
  );
}

function Password(): ReactNode {
  const { calls } = useConsole();
  const [current, setCurrent] = useState("");
  const [password, setPassword] = useState("");
  const [problem, setProblem] = useState("");
  const [isDone, setDone] = useState(false);
  const submit = async (): Promise<void> => {
    try {
      await calls.ask("setPassword", { before: current, password });
      setDone(true);
      setProblem("");
      setCurrent("");
      setPassword("");
    } catch (error) {
      setDone(false);
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <section className="card">
      <header>
        <h2>{say("password")}</h2>
      </header>
      <form
        className="pad narrow"
        onSubmit={(event: FormEvent) => {
          event.preventDefault();
          void submit();
        }}
      >
        {isDone && <Notice icon={<CircleCheck size={18} aria-hidden="true" />}>{say("passwordChanged")}</Notice>}
        <Field
          label={say("passwordCurrent")}
          type="password"
          autoComplete="current-password"
          required
          error={problem}
          value={current}
          onChange={({ currentTarget }) => setCurrent(currentTarget.value)}
        />
        <NewPassword password={password} change={setPassword} />
        <div>
          <Button type="submit" look="primary">
            {say("passwordChange")}
          </Button>
        </div>
      </form>
    </section>
  );
}

function Sessions({ answer }: { answer: Answered<{ sessions: SessionRow[] }> }): ReactNode {
  const { calls } = useConsole();
  const { result, problem, again } = answer;
  const [endProblem, setEndProblem] = useState("");
  const end = async (id: string): Promise<void> => {
    try {
      await calls.ask("endSession", { id });
      setEndProblem("");
      again();
    } catch (error) {
      setEndProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <section className="card">
      <header>
        <h2>{say("sessions")}</h2>
      </header>
      <Failed problem={problem === "" ? endProblem : problem} again={again} />
      <DataTable
        name={say("sessions")}
        words={TABLE_WORDS}
        columns={COLUMNS}
        rows={result?.sessions}
        isFailed={problem !== ""}
        keyOf={({ id }) => id}
        order="-last"
        urlPrefix="s"
        empty={
          <Empty icon={<MonitorSmartphone size={28} aria-hidden="true" />} title={say("sessionsNone")}>
            {say("sessionsNoneHint")}
          </Empty>
        }
        actions={({ id, isOwn }) =>
          !isOwn && (
            <Button look="plain" onClick={() => void end(id)}>
              {say("sessionEnd")}
            </Button>
          )
        }
      />
    </section>
  );
}

function OwnDevices(): ReactNode {
  const { me } = useConsole();
  const { result, problem, again } = useServer<{ devices: DeviceRow[] }>("devices");
  return (
    <section className="card">
      <header>
        <h2>{say("devicesOwn")}</h2>
      </header>
      <Failed problem={problem} again={again} />
      <Devices
        devices={result?.devices.filter(({ person }) => person === me.name)}
        isFailed={problem !== ""}
        again={again}
        isOfOne
        isOwn={me.role === "user"}
      />
    </section>
  );
}

function browserText(browser: string): string {
  return browser === "" ? say("sessionLocal") : browserName(browser);
}

const COLUMNS: readonly Column<SessionRow>[] = [
  {
    id: "browser",
    title: say("sessionBrowser"),
    value: ({ browser, address }) => `${browserText(browser)} ${address}`,
    cell: ({ browser, address, isOwn, person }) => (
      <div className="name-cell">
        <span>
          {browserText(browser)} {isOwn && <Badge tone="accent">{say("sessionOwn")}</Badge>}
        </span>
        <span className="small quiet">
          {person === "" ? say("ownerName") : person} · {address}
        </span>
      </div>
    ),
  },
  {
    id: "started",
    title: say("sessionStarted"),
    value: ({ startedMs }) => startedMs,
    text: ({ startedMs }) => new Date(startedMs).toISOString(),
    cell: ({ startedMs }) => <Moment atMs={startedMs} />,
    isMinor: true,
  },
  {
    id: "last",
    title: say("sessionLast"),
    value: ({ lastMs }) => lastMs,
    text: ({ lastMs }) => new Date(lastMs).toISOString(),
    cell: ({ lastMs }) => <Moment atMs={lastMs} />,
  },
];
