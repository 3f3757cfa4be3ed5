// The frame around all views: the one sentence at the top, the pages at the side, and what is wrong with the line to
// the agent.
import { ChartColumn, CircleHelp, Files, FolderTree, House, Plus, Settings, Unplug } from "lucide-react";
import type { ReactNode } from "react";
import { Link, Route, Switch, useLocation } from "wouter";
import { useView } from "@runnel/shared/ui/view-store.ts";
import { LineContext, lineKnowledge } from "@runnel/shared/ui/line-context.ts";
import { Notice } from "@runnel/shared/ui/widgets/notice.tsx";
import { StateIcon } from "@runnel/shared/ui/widgets/state-icon.tsx";
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

function HeadBar({ view: { line, shown } }: { view: AgentView }): ReactNode {
  // The agent's own hint for the first drive is a command.
  const isNew = shown?.head.state === "fine" && shown.lists.drives?.length === 0;
  const next = isNew ? say("noDrivesHint") : (shown?.head.next ?? null);
  return (
    <header className="head">
      {shown === undefined ? (
        <>
          <StateIcon state="offline" size={24} />
          <h1>{say(line === "lost" || line === "ended" ? "headLost" : "lineConnecting")}</h1>
        </>
      ) : (
        <>
          <StateIcon state={shown.head.state} size={24} />
          <div role="status">
            <h1>{shown.head.sentence}</h1>
            {next !== null && <p className="quiet small">{next}</p>}
          </div>
        </>
      )}
    </header>
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

function LineNotice({ view: { line } }: { view: AgentView }): ReactNode {
  // While it connects for the first time, the head says so: nothing moves when it is done.
  if (line === "live" || line === "connecting") return null;
  return (
    <Notice tone="warning" icon={<Unplug size={ICON} aria-hidden="true" />}>
      {say(line === "lost" ? "lineLost" : "lineEnded")}
    </Notice>
  );
}
