// The verbs that the desktop app asks the agent for itself; its page asks for others.
import { mountSchemas } from "../verbs/mount.ts";
import { openPageSchemas } from "../verbs/open-page.ts";
import { statusSchemas } from "../verbs/status.ts";
import { unmountSchemas } from "../verbs/unmount.ts";
import { viewSchemas } from "../verbs/view.ts";

export const AGENT_TABLE = {
  view: viewSchemas,
  status: statusSchemas,
  openPage: openPageSchemas,
  mount: mountSchemas,
  unmount: unmountSchemas,
};
