// The verbs that the agent answers, in the order of the command line's help.
import { activity } from "./activity.ts";
import { evict } from "./pins/evict.ts";
import { doctor } from "./help/doctor.ts";
import { log } from "./help/log.ts";
import { find } from "./find.ts";
import { flush } from "./flush.ts";
import { login } from "./login.ts";
import { logout } from "./logout.ts";
import { mount } from "./mount.ts";
import { openPage } from "./open-page.ts";
import { folder } from "./pins/folder.ts";
import { pin } from "./pins/pin.ts";
import { remove } from "./remove.ts";
import { savings, savingsCsv } from "./savings.ts";
import { savingsFile } from "./savings-file.ts";
import { stats } from "./stats.ts";
import { status } from "./status.ts";
import { stop } from "./stop.ts";
import { unmount } from "./unmount.ts";
import { unpin } from "./pins/unpin.ts";
import { unsent } from "./unsent.ts";
import { view } from "./view.ts";
import { watch } from "./watch.ts";

export const AGENT_VERBS = {
  login,
  logout,
  mount,
  unmount,
  flush,
  unsent,
  status,
  stats,
  savings,
  savingsCsv,
  activity,
  find,
  remove,
  pin,
  unpin,
  evict,
  folder,
  doctor,
  log,
  watch,
  view,
  savingsFile,
  openPage,
  stop,
};
