// The verbs that the agent answers, in the order of the command line's help.
import { activity } from "./activity.ts";
import { evict } from "./pins/evict.ts";
import { doctor } from "./help/doctor.ts";
import { log } from "./help/log.ts";
import { find } from "./find.ts";
import { flush } from "./flush.ts";
import { line } from "./line.ts";
import { login } from "./servers/login.ts";
import { logout } from "./servers/logout.ts";
import { mount } from "./drives/mount.ts";
import { open } from "./drives/open.ts";
import { openers } from "./drives/openers.ts";
import { copy } from "./objects/copy.ts";
import { get } from "./objects/get.ts";
import { putVerb } from "./objects/put.ts";
import { openPage } from "./open-page.ts";
import { folder } from "./pins/folder.ts";
import { pin } from "./pins/pin.ts";
import { reconnect } from "./drives/reconnect.ts";
import { remove } from "./remove.ts";
import { savings, savingsCsv } from "./savings.ts";
import { savingsFile } from "./savings-file.ts";
import { carryIn, carryOut } from "./supply/carry.ts";
import { supply } from "./supply/supply.ts";
import { servers } from "./servers/servers.ts";
import { settle } from "./settle.ts";
import { set } from "./drives/set.ts";
import { startAtLogin } from "./start-at-login.ts";
import { stats } from "./stats.ts";
import { status } from "./status.ts";
import { stop } from "./stop.ts";
import { pause } from "./pauses/pause.ts";
import { resume } from "./pauses/resume.ts";
import { unmount } from "./drives/unmount.ts";
import { unpin } from "./pins/unpin.ts";
import { unsent } from "./unsent.ts";
import { view } from "./view.ts";
import { watch } from "./watch.ts";

export const AGENT_VERBS = {
  login,
  logout,
  servers,
  mount,
  unmount,
  reconnect,
  set,
  startAtLogin,
  pause,
  resume,
  flush,
  unsent,
  status,
  stats,
  savings,
  savingsCsv,
  activity,
  find,
  remove,
  put: putVerb,
  get,
  copy,
  pin,
  unpin,
  evict,
  supply,
  carryOut,
  carryIn,
  openers,
  settle,
  folder,
  open,
  doctor,
  line,
  log,
  watch,
  view,
  savingsFile,
  openPage,
  stop,
};
