// The verbs that the agent answers, in the order of the command line's help.
import { find } from "./find.ts";
import { flush } from "./flush.ts";
import { login } from "./login.ts";
import { logout } from "./logout.ts";
import { mount } from "./mount.ts";
import { openPage } from "./open-page.ts";
import { remove } from "./remove.ts";
import { statsCsv } from "./stats-csv.ts";
import { stats } from "./stats.ts";
import { status } from "./status.ts";
import { stop } from "./stop.ts";
import { unmount } from "./unmount.ts";
import { unsent } from "./unsent.ts";
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
  find,
  remove,
  watch,
  statsCsv,
  openPage,
  stop,
};
