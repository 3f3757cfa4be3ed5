// The frame around all views: the places at the side, who is signed in, and what is wrong with the line to the server.
import {
  Activity,
  ArrowLeftRight,
  ChevronsUpDown,
  Gauge,
  HardDrive,
  LogOut,
  ScrollText,
  Settings,
  Unplug,
  UserRound,
  Users,
  Waves,
} from "lucide-react";
import { type ReactNode, useEffect, useRef, useSyncExternalStore } from "react";
import { Link, Redirect, Route, Switch, useLocation } from "wouter";
import type { LineState } from "@runnel/shared/ui/calls.ts";
import { LineContext, lineKnowledge } from "@runnel/shared/ui/line-context.ts";
import { Menu } from "@runnel/shared/ui/widgets/menu.tsx";
import { Notice } from "@runnel/shared/ui/widgets/notice.tsx";
import { say, useConsole } from "./console.ts";
import { AccountView } from "./views/account.tsx";
import { AuditView } from "./views/audit.tsx";
import { LiveView } from "./views/live.tsx";
import { OverviewView } from "./views/overview.tsx";
import { PeopleView } from "./views/people.tsx";
import { PersonView } from "./views/person.tsx";
import { SettingsView } from "./views/settings.tsx";
import { VolumeView } from "./views/volume.tsx";
import { VolumesView } from "./views/volumes.tsx";

const ICON = 18;

const PLACES = [
  { path: "/", word: "navOverview", icon: Gauge, isForAdmins: true },
  { path: "/volumes", word: "navVolumes", icon: HardDrive, isForAdmins: false },
  { path: "/people", word: "navPeople", icon: Users, isForAdmins: true },
  { path: "/live", word: "navLive", icon: Activity, isForAdmins: true },
  { path: "/audit", word: "navAudit", icon: ScrollText, isForAdmins: true },
  { path: "/settings", word: "navSettings", icon: Settings, isForAdmins: true },
  { path: "/account", word: "navAccount", icon: UserRound, isForAdmins: false },
] as const;

export function App(): ReactNode {
  const { calls, me } = useConsole();
  const line = useSyncExternalStore(calls.listen, () => calls.state);
  const [location] = useLocation();
  const view = useRef<HTMLElement>(null);
  useEffect(() => {
    // Returns a promise in newer browsers, which is no clean-up of an effect.
    void view.current?.scrollTo(0, 0);
  }, [location]);
  const isAdmin = me.role === "admin";
  return (
    <div className="console">
      <SideBar />
      <main className="view" ref={view} tabIndex={-1}>
        <div className="inner">
          <LineNotice line={line} />
          <LineContext value={lineKnowledge(line, say("unknown"))}>
            {isAdmin ? <AdminViews /> : <UserViews />}
          </LineContext>
        </div>
      </main>
    </div>
  );
}

function AdminViews(): ReactNode {
  return (
    <Switch>
      <Route path="/" component={OverviewView} />
      <Route path="/volumes" component={VolumesView} />
      <Route path="/volumes/:name/:tab?">
        {({ name, tab }) => <VolumeView name={decodeURIComponent(name)} tab={tab ?? "files"} />}
      </Route>
      <Route path="/people/:tab?">{({ tab }) => <PeopleView tab={tab ?? "people"} />}</Route>
      <Route path="/person/:name">{({ name }) => <PersonView name={decodeURIComponent(name)} />}</Route>
      <Route path="/live/:tab?">{({ tab }) => <LiveView tab={tab ?? "connections"} />}</Route>
      <Route path="/audit" component={AuditView} />
      <Route path="/settings" component={SettingsView} />
      <Route path="/account" component={AccountView} />
      <Route>
        <Redirect to="/" replace />
      </Route>
    </Switch>
  );
}

/** Shows who is no administrator the own volumes, devices and sessions. */
function UserViews(): ReactNode {
  return (
    <Switch>
      <Route path="/volumes" component={VolumesView} />
      <Route path="/volumes/:name">{({ name }) => <VolumeView name={decodeURIComponent(name)} tab="files" />}</Route>
      <Route path="/account" component={AccountView} />
      <Route>
        <Redirect to="/volumes" replace />
      </Route>
    </Switch>
  );
}

function SideBar(): ReactNode {
  const { me } = useConsole();
  const [location] = useLocation();
  const isHere = (path: string): boolean =>
    location === path || (path !== "/" && location.startsWith(`${path}/`)) || isPersonOf(path, location);
  return (
    <header className="side">
      <div className="brand">
        <Waves size={26} aria-hidden="true" />
        <div>
          <strong>Runnel</strong>
          <div className="small quiet one-line">{me.server}</div>
        </div>
      </div>
      <nav aria-label={say("navLabel")}>
        <ul>
          {PLACES.filter(({ isForAdmins }) => me.role === "admin" || !isForAdmins).map(({ path, word, icon: Icon }) => (
            <li key={path}>
              <Link href={path} aria-current={isHere(path) ? "page" : undefined}>
                <Icon size={ICON} aria-hidden="true" />
                {say(word)}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <Account />
    </header>
  );
}

/** A person's own view is a part of the people. */
function isPersonOf(path: string, location: string): boolean {
  return path === "/people" && location.startsWith("/person/");
}

function Account(): ReactNode {
  const { me, signOut } = useConsole();
  const [, go] = useLocation();
  const name = me.name === "" ? say("ownerName") : me.name;
  return (
    <Menu
      items={[
        { label: say("navAccount"), icon: <UserRound size={16} aria-hidden="true" />, choose: () => go("/account") },
        { label: say("signOut"), icon: <LogOut size={16} aria-hidden="true" />, choose: () => void signOut() },
      ]}
    >
      <button type="button" className="account">
        <span className="unseen">{say("accountMenu")}</span>
        <span className="initial" aria-hidden="true">
          {name.slice(0, 1)}
        </span>
        <div>
          <div className="one-line">{name}</div>
          <div className="small quiet">{say(me.role === "admin" ? "roleAdmin" : "roleUser")}</div>
        </div>
        <ChevronsUpDown size={14} className="quiet" aria-hidden="true" />
      </button>
    </Menu>
  );
}

function LineNotice({ line }: { line: LineState }): ReactNode {
  if (line === "live") return null;
  if (line === "connecting")
    return <Notice icon={<ArrowLeftRight size={ICON} aria-hidden="true" />}>{say("lineConnecting")}</Notice>;
  return (
    <Notice tone="warning" icon={<Unplug size={ICON} aria-hidden="true" />}>
      {say("lineLost")}
    </Notice>
  );
}
