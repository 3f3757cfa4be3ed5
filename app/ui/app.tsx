// The frame around all views: the one sentence at the top, the pages at the side, and what is wrong with the line to
// the agent.
import { ChartColumn, CircleHelp, Files, FolderTree, House, Plus, Settings, Unplug } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Link, Route, Switch, useLocation } from "wouter";
import { useView } from "@runnel/shared/ui/view-store.ts";
import { LineContext, lineKnowledge } from "@runnel/shared/ui/line-context.ts";
import { Button } from "@runnel/shared/ui/widgets/button.tsx";
import { Failure, Notice } from "@runnel/shared/ui/widgets/notice.tsx";
import { StateIcon } from "@runnel/shared/ui/widgets/state-icon.tsx";
import type { HeadAct } from "../src/agent/view/head.ts";
import { type AgentView, say, useAgent } from "./agent.ts";
import { AddView } from "./views/add.tsx";
import { ConflictsView } from "./views/conflicts.tsx";
import { FoldersView } from "./views/folders.tsx";
import { HelpView } from "./views/help.tsx";
import { HomeView } from "./views/home.tsx";
import { SavingsView } from "./views/savings.tsx";
import { SettingsView } from "./views/settings.tsx";

const ICON = 18;

const PAGES = [
  { path: "/", word: "navHome", icon: <House size={ICON} aria-hidden="true" />, view: HomeView },
  { path: "/savings", word: "navSavings", icon: <ChartColumn size={ICON} aria-hidden="true" />, view: SavingsView },
  { path: "/folders", word: "navFolders", icon: <FolderTree size={ICON} aria-hidden="true" />, view: FoldersView },
  { path: "/conflicts", word: "navConflicts", icon: <Files size={ICON} aria-hidden="true" />, view: ConflictsView },
  { path: "/add", word: "navAdd", icon: <Plus size={ICON} aria-hidden="true" />, view: AddView },
  { path: "/settings", word: "navSettings", icon: <Settings size={ICON} aria-hidden="true" />, view: SettingsView },
  { path: "/help", word: "navHelp", icon: <CircleHelp size={ICON} aria-hidden="true" />, view: HelpView },
] as const;

export function App(): ReactNode {
  const { store } = useAgent();
  const view = useView(store);
  return (
    <div className="window">
      <HeadBar view={view} />
      <SideBar conflicts={view.shown?.lists.drives?.reduce((sum, { conflicts }) => sum + conflicts, 0) ?? 0} />
      <main tabIndex={-1}>
        <LineNotice view={view} />
        {view.line === "live" && <Failure problem={view.problem} again={store.again} act={say("tryAgain")} />}
        <LineContext value={lineKnowledge(view.line, say("unknown"))}>
          <Switch>
            {PAGES.map(({ path, view: View }) => (
              <Route key={path} path={path}>
                <View view={view} />
              </Route>
            ))}
          </Switch>
        </LineContext>
      </main>
    </div>
  );
}

function HeadBar({ view: { line, shown, problem } }: { view: AgentView }): ReactNode {
  const isLive = line === "live";
  const isUnknown = line === "lost" || line === "ended" || problem !== "";
  return (
    <header className="head">
      {shown === undefined ? (
        <>
          <StateIcon state="offline" size={24} />
          <h1>{say(isUnknown ? "headLost" : "lineConnecting")}</h1>
        </>
      ) : (
        <>
          <StateIcon state={shown.head.state} size={24} />
          <div role="status">
            <h1>{shown.head.sentence}</h1>
            {isLive && shown.head.act === null && shown.head.next !== null && (
              <p className="quiet small">{shown.head.next}</p>
            )}
          </div>
          {isLive && shown.head.act !== null && <Act act={shown.head.act} />}
        </>
      )}
    </header>
  );
}

const ACT_LINKS = {
  add: { href: "/add", word: "navAdd" },
  drives: { href: "/", word: "showDrives" },
  conflicts: { href: "/conflicts", word: "showConflicts" },
} as const;

/** Does what helps now, or leads there; nothing for who is there already. */
function Act({ act }: { act: HeadAct }): ReactNode {
  const { calls } = useAgent();
  const [location] = useLocation();
  const [problem, setProblem] = useState("");
  if (act === "resume") {
    const resume = (): void => {
      calls.ask("resume").then(
        () => setProblem(""),
        (error: Error) => setProblem(error.message),
      );
    };
    return (
      <>
        {problem !== "" && <p className="small error">{problem}</p>}
        <Button onClick={resume}>{say("driveResume")}</Button>
      </>
    );
  }
  const { href, word } = ACT_LINKS[act];
  // Home has a button of its own for the first drive.
  if (href === location || (act === "add" && location === "/")) return null;
  return (
    <Link href={href} className="button">
      {say(word)}
    </Link>
  );
}

function SideBar({ conflicts }: { conflicts: number }): ReactNode {
  const [location] = useLocation();
  return (
    <nav aria-label={say("navLabel")}>
      <ul>
        {PAGES.map(({ path, word, icon }) => (
          <li key={path}>
            <Link href={path} aria-current={location === path ? "page" : undefined}>
              {icon}
              <span>{say(word)}</span>
              {word === "navConflicts" && conflicts > 0 && <span className="badge">{conflicts}</span>}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function LineNotice({ view: { line, shown } }: { view: AgentView }): ReactNode {
  // While it connects for the first time, the head says so: nothing moves when it is done.
  if (line === "live" || line === "connecting") return null;
  return (
    <Notice tone="warning" icon={<Unplug size={ICON} aria-hidden="true" />}>
      {say(line === "lost" ? "lineLost" : shown === undefined ? "lineEnded" : "lineEndedShown")}
    </Notice>
  );
}
