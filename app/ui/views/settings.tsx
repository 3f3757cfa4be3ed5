// Settings: how much of the disk each drive may take, which drives come back after a restart and whether they do so at
// log-in, which servers know this computer.
import { Server } from "lucide-react";
import { type FormEvent, type ReactNode, useContext, useState } from "react";
import { formatBytes } from "@runnel/shared/ui/format.ts";
import { type Answered, useAnswer } from "@runnel/shared/ui/use-answer.ts";
import { LineContext } from "@runnel/shared/ui/line-context.ts";
import { Button } from "@runnel/shared/ui/widgets/button.tsx";
import { Confirm } from "@runnel/shared/ui/widgets/dialog.tsx";
import { CheckField, Field } from "@runnel/shared/ui/widgets/field.tsx";
import { Failure, Pending, Skeleton } from "@runnel/shared/ui/widgets/notice.tsx";
import { type AgentView, say, useAgent } from "../agent.ts";
import { nameOf } from "./home.tsx";

const ICON = 18;
const GB = 1024 ** 3;
const GB_MIN = 0.1;
const GB_MAX = 1_000_000;

interface Drive {
  mountpoint: string;
  cacheBytes: number;
  cacheLimitBytes: number;
  isKept: boolean;
}

interface StartLook {
  state: "off" | "on" | "moved" | "foreign";
  place: string;
  obstacle: string | null;
}

interface KnownServer {
  server: string;
  device: string;
  volumes: { name: string; isReadOnly: boolean }[];
}

export function SettingsView({ view: { shown } }: { view: AgentView }): ReactNode {
  const { calls } = useAgent();
  // Asked again when drives come or go.
  const drives = shown?.lists.drives?.map(({ key }) => key) ?? [];
  const status = useAnswer<{ mounts: Drive[] }>(calls, "status", { asksServer: false, drives });
  const start = useAnswer<StartLook>(calls, "startAtLogin", {});
  const known = useAnswer<{ servers: KnownServer[] }>(calls, "servers", {});
  const { isGone } = useContext(LineContext);
  const isThere = ({ result, problem }: Answered<unknown>): boolean => isGone || result !== undefined || problem !== "";
  return (
    <>
      <section className="card">
        <header>
          <h2>{say("settingsDrives")}</h2>
        </header>
        <Answer asked={status}>
          {({ mounts }) =>
            mounts.length === 0 ? (
              <p className="empty-line">{say("settingsNoDrives")}</p>
            ) : (
              mounts.map((drive) => <DriveForm key={drive.mountpoint} drive={drive} changed={status.again} />)
            )
          }
        </Answer>
      </section>
      {/* Each comes once it is known where it stands. */}
      {isThere(status) && (
        <section className="card">
          <header>
            <h2>{say("settingsStart")}</h2>
          </header>
          <Answer asked={start}>{(look) => <StartSwitch look={look} changed={start.again} />}</Answer>
        </section>
      )}
      {isThere(status) && isThere(start) && (
        <section className="card">
          <header>
            <h2>{say("settingsServers")}</h2>
          </header>
          <Answer asked={known}>
            {({ servers }) =>
              servers.length === 0 ? (
                <p className="empty-line">{say("settingsNoServers")}</p>
              ) : (
                <ul className="items">
                  {servers.map((server) => (
                    <ServerRow key={server.server} server={server} changed={known.again} />
                  ))}
                </ul>
              )
            }
          </Answer>
        </section>
      )}
    </>
  );
}

interface AnswerProps<Result> {
  asked: Answered<Result>;
  children(result: Result): ReactNode;
}

/** Shows what was answered; until then its place, or why it was not. */
function Answer<Result>({ asked, children }: AnswerProps<Result>): ReactNode {
  const { result, problem, again } = asked;
  if (result !== undefined) return children(result);
  return (
    <>
      <Failure problem={problem} again={again} act={say("tryAgain")} />
      <Pending isFailed={problem !== ""}>
        <Skeleton height={96} />
      </Pending>
    </>
  );
}

function DriveForm({ drive, changed }: { drive: Drive; changed(): void }): ReactNode {
  const { calls } = useAgent();
  const { mountpoint, cacheBytes, cacheLimitBytes } = drive;
  const [limit, setLimit] = useState(`${Math.round((cacheLimitBytes / GB) * 1000) / 1000}`);
  const [isKept, setKept] = useState(drive.isKept);
  const [problem, setProblem] = useState("");
  const [isSaved, setSaved] = useState(false);
  const save = async (): Promise<void> => {
    setSaved(false);
    const gb = Number(limit.trim().replace(",", "."));
    if (!(gb >= GB_MIN && gb <= GB_MAX)) {
      setProblem(say("settingsLimitWrong"));
      return;
    }
    try {
      await calls.ask("set", { mountpoint, cacheBytes: Math.round(gb * GB), keep: isKept });
      setProblem("");
      setSaved(true);
      changed();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void save();
  };
  return (
    <form className="pad" aria-label={nameOf(mountpoint)} onSubmit={submit}>
      <h3>
        {nameOf(mountpoint)} <span className="small quiet">{mountpoint}</span>
      </h3>
      <Field
        label={say("settingsLimit")}
        hint={say("settingsUsed", { size: formatBytes(cacheBytes) })}
        error={problem}
        inputMode="decimal"
        autoComplete="off"
        value={limit}
        onChange={({ currentTarget: { value } }) => setLimit(value)}
      />
      <CheckField label={say("settingsKeep")} hint={say("keepHint")} isChecked={isKept} change={setKept} />
      <div className="row">
        <Button type="submit">{say("settingsSave")}</Button>
        <span role="status" className="small quiet">
          {isSaved ? say("settingsSaved") : ""}
        </span>
      </div>
    </form>
  );
}

function StartSwitch({ look, changed }: { look: StartLook; changed(): void }): ReactNode {
  const { calls } = useAgent();
  const [problem, setProblem] = useState("");
  const [isAsking, setAsking] = useState(false);
  const { state, place, obstacle } = look;
  const change = async (starts: boolean): Promise<void> => {
    // A tick that is disabled meanwhile would lose the focus.
    if (isAsking) return;
    setAsking(true);
    try {
      await calls.ask("startAtLogin", { starts });
      setProblem("");
      changed();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    } finally {
      setAsking(false);
    }
  };
  const hints = {
    off: say("settingsStartOff"),
    on: say("settingsStartOn", { place }),
    moved: say("settingsStartMoved", { place }),
    foreign: "",
  };
  const isPossible = obstacle === null || state === "on";
  return (
    <div className="pad">
      <CheckField
        label={say("settingsStartDo")}
        hint={isPossible ? hints[state] : (obstacle ?? "")}
        error={problem}
        isChecked={state === "on"}
        isDisabled={!isPossible}
        change={(starts) => void change(starts)}
      />
    </div>
  );
}

function ServerRow({
  server: { server, device, volumes },
  changed,
}: {
  server: KnownServer;
  changed(): void;
}): ReactNode {
  const { calls } = useAgent();
  const [isAsking, setAsking] = useState(false);
  const named = volumes.map(({ name, isReadOnly }) => (isReadOnly ? say("settingsReads", { name }) : name));
  return (
    <li>
      <Server size={ICON} aria-hidden="true" />
      <div>
        <strong>{server}</strong> <span className="quiet">{say("settingsKnownAs", { device })}</span>
        <p className="small quiet">{named.join(", ")}</p>
      </div>
      <Button onClick={() => setAsking(true)}>{say("settingsForget")}</Button>
      {isAsking && (
        <Confirm
          title={say("settingsForgetTitle", { server })}
          consequence={say("settingsForgetConsequence")}
          act={say("settingsForget")}
          cancel={say("cancel")}
          close={() => setAsking(false)}
          confirm={async () => {
            await calls.ask("logout", { server });
            changed();
          }}
        />
      )}
    </li>
  );
}
