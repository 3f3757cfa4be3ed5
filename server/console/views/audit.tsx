// Audit: who was let in or refused, and who changed what. The server filters; the page asks for the next entries.
import { Download, ScrollText, SearchX } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { formatMoment } from "@runnel/shared/ui/format.ts";
import { useUrlValue } from "@runnel/shared/ui/use-url.ts";
import { Badge } from "@runnel/shared/ui/widgets/badge.tsx";
import { Button } from "@runnel/shared/ui/widgets/button.tsx";
import { SearchField } from "@runnel/shared/ui/widgets/data-table.tsx";
import { Moment } from "@runnel/shared/ui/widgets/moment.tsx";
import { Empty, Pending, Skeleton } from "@runnel/shared/ui/widgets/notice.tsx";
import { Select } from "@runnel/shared/ui/widgets/select.tsx";
import type { AuditEntry, AuditResult } from "../../src/audit/audit-entry.ts";
import type { AuditPage } from "../../src/audit/audit-filter.ts";
import { say, useConsole, useServer } from "../console.ts";
import { Failed } from "../parts/failed.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { WORDS, type WordId } from "../words/en.ts";

const PAGE_ENTRIES = 100;
const DAY_MS = 24 * 3_600_000;
const DELAY_MS = 250;

/** Acts by their words: those that the catalogue has words for, which are all. */
const ACTS = (Object.keys(WORDS) as WordId[])
  .filter((id) => id.startsWith("act_"))
  .map((id) => [id.slice("act_".length), say(id)] as const)
  .toSorted(([, one], [, other]) => one.localeCompare(other));
const RESULTS = ["done", "failed"] as const;
const PERIODS = { day: 1, week: 7, month: 30 } as const;

interface AuditRequest {
  whoPart?: string;
  act?: string;
  result?: string;
  fromMs?: number;
  limit: number;
}

export function AuditView(): ReactNode {
  const [who, setWho] = useUrlValue("who");
  const [act, setAct] = useUrlValue("act");
  const [result, setResult] = useUrlValue("result");
  const [period, setPeriod] = useUrlValue("period");
  const typed = useLater(who.trim());
  const [openedMs] = useState(() => Date.now());
  const days = period in PERIODS ? PERIODS[period as keyof typeof PERIODS] : 0;
  const request: AuditRequest = {
    ...(typed === "" ? {} : { whoPart: typed }),
    ...(act === "" ? {} : { act }),
    ...(result === "" ? {} : { result }),
    ...(days === 0 ? {} : { fromMs: openedMs - days * DAY_MS }),
    limit: PAGE_ENTRIES,
  };
  const clear = (): void => {
    for (const set of [setWho, setAct, setResult, setPeriod]) set("");
  };
  const isFiltered = Object.keys(request).length > 1;
  return (
    <>
      <PageHead title={say("navAudit")} actions={<Export request={request} />}>
        {say("auditHint")}
      </PageHead>
      <section className="card">
        <div className="table-bar">
          <SearchField label={say("auditWho")} value={who} change={setWho} />
          <Choice label={say("auditAnyAct")} value={act} choices={ACTS} change={setAct} />
          <Choice
            label={say("auditAnyResult")}
            value={result}
            choices={RESULTS.map((value) => [value, say(value === "done" ? "result_done" : "auditFailed")])}
            change={setResult}
          />
          <Choice
            label={say("auditAnyTime")}
            value={period}
            choices={[
              ["day", say("auditDay")],
              ["week", say("auditWeek")],
              ["month", say("auditMonth")],
            ]}
            change={setPeriod}
          />
        </div>
        <Entries key={JSON.stringify(request)} request={request} isFiltered={isFiltered} clear={clear} />
      </section>
    </>
  );
}

function Choice(props: {
  label: string;
  value: string;
  choices: readonly (readonly [string, string])[];
  change(value: string): void;
}): ReactNode {
  const { label, value, choices, change } = props;
  const all = [{ value: "", label }, ...choices.map(([each, word]) => ({ value: each, label: word }))];
  return <Select label={label} isLabelUnseen value={value} choices={all} change={change} />;
}

/** Returns a text once it has stood for a moment: not each letter is asked for. */
function useLater(text: string): string {
  const [later, setLater] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setLater(text), DELAY_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return later;
}

function Export({ request: { limit: _limit, ...filter } }: { request: AuditRequest }): ReactNode {
  const { calls } = useConsole();
  const [problem, setProblem] = useState("");
  const save = async (): Promise<void> => {
    try {
      const { ticket } = await calls.ask<{ ticket: string }>("auditCsv", filter);
      setProblem("");
      location.assign(`/files/${ticket}`);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <>
      {problem !== "" && (
        <p role="alert" className="error">
          {problem}
        </p>
      )}
      <Button icon={<Download size={16} aria-hidden="true" />} onClick={() => void save()}>
        {say("tableExport")}
      </Button>
    </>
  );
}

interface EntriesProps {
  request: AuditRequest;
  isFiltered: boolean;
  clear(): void;
}

function Entries({ request, isFiltered, clear }: EntriesProps): ReactNode {
  /** Ends of the pages above the one that is shown. */
  const [ends, setEnds] = useState<readonly number[]>([]);
  const end = ends.at(-1);
  const { result, problem, again } = useServer<AuditPage>("audit", { ...request, after: end });
  const { entries = [], after = null } = result ?? {};
  const isOldest = after === null || after === end;
  return (
    <>
      <Failed problem={problem} again={again} />
      {result === undefined ? (
        <Pending isFailed={problem !== ""}>
          <Skeleton height={20} />
          <Skeleton height={20} />
          <Skeleton height={20} />
        </Pending>
      ) : entries.length === 0 && after === null && end === undefined ? (
        <Empty
          icon={isFiltered ? <SearchX size={28} aria-hidden="true" /> : <ScrollText size={28} aria-hidden="true" />}
          title={say(isFiltered ? "tableNoMatch" : "auditNone")}
          action={isFiltered && <Button onClick={clear}>{say("tableClear")}</Button>}
        >
          {say(isFiltered ? "tableNoMatchHint" : "auditNoneHint")}
        </Empty>
      ) : entries.length === 0 ? (
        <p className="empty-line">{say("auditNoneHere")}</p>
      ) : (
        <EntryTable entries={entries} />
      )}
      {(after !== null || end !== undefined) && (
        <div className="table-pages">
          <Button aria-disabled={end === undefined} onClick={() => setEnds(ends.slice(0, -1))}>
            {say("auditNewer")}
          </Button>
          <Button aria-disabled={isOldest} onClick={() => !isOldest && setEnds([...ends, after])}>
            {say("auditOlder")}
          </Button>
        </div>
      )}
    </>
  );
}

function EntryTable({ entries }: { entries: readonly AuditEntry[] }): ReactNode {
  return (
    <div className="table-scroll" role="region" aria-label={say("navAudit")} tabIndex={0}>
      <table className="table rows plain">
        <thead>
          <tr>
            <th scope="col">{say("auditWhen")}</th>
            <th scope="col">{say("auditActor")}</th>
            <th scope="col">{say("auditAct")}</th>
            <th scope="col">{say("auditObject")}</th>
            <th scope="col">{say("auditResult")}</th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <tr key={entry.n}>
              <td className="small quiet when" title={formatMoment(entry.atMs)}>
                <Moment atMs={entry.atMs} />
              </td>
              <td>
                <div className="name-cell">
                  <span>{actorText(entry)}</span>
                  <span className="small quiet">{entry.who.address}</span>
                </div>
              </td>
              <td>
                {say(`act_${entry.act}`)}
                {entry.count > 1 && <span className="small quiet"> {say("auditTimes", { count: entry.count })}</span>}
              </td>
              <td>
                <div className="name-cell">
                  <span>{entry.object}</span>
                  {entry.detail !== "" && <span className="small quiet">{entry.detail}</span>}
                </div>
              </td>
              <td>
                <ResultBadge result={entry.result} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function ResultBadge({ result }: { result: AuditResult }): ReactNode {
  const tone = result === "done" ? "accent" : result === "unknown" ? "warning" : "danger";
  return <Badge tone={tone}>{say(`result_${result}`)}</Badge>;
}

function actorText({ who: { kind, name, person } }: AuditEntry): string {
  if (name !== "" && person !== "" && name !== person) return say("deviceOf", { name, person });
  if (name !== "" || person !== "") return name === "" ? person : name;
  return kind === "server"
    ? say("actorServer")
    : kind === "owner"
      ? say("actorOwner")
      : kind === "admin"
        ? say("actorAdmin")
        : say("actorUnknown");
}
