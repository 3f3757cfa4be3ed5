// The verbs of the console, by name. The pages' types come from here.
import { audit, auditCsv } from "./audit.ts";
import { devices, revoke, setRight } from "./devices.ts";
import { invite, invites, withdraw } from "./invites.ts";
import { addPerson, changePerson, people, removePerson } from "./people.ts";
import { endSession, sessions, setPassword, signOut } from "./sessions.ts";
import { disconnect } from "./live.ts";
import { settings } from "./settings.ts";
import { browse, createVolume, offered, removeVolume, setVolume, volumes } from "./volumes.ts";
import { view, viewVolumes } from "./view.ts";
import { whoAmI } from "./who-am-i.ts";

export const CONSOLE_VERBS = {
  whoAmI,
  signOut,
  setPassword,
  sessions,
  endSession,
  people,
  addPerson,
  changePerson,
  removePerson,
  devices,
  revoke,
  setRight,
  invite,
  invites,
  withdraw,
  audit,
  auditCsv,
  settings,
  view,
  viewVolumes,
  volumes,
  createVolume,
  setVolume,
  removeVolume,
  browse,
  offered,
  disconnect,
};
