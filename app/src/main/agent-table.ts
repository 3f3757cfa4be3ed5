// The verbs that the desktop app asks the agent for itself; its page asks for others.
import { lineSchemas } from "../verbs/line.ts";
import { mountSchemas } from "../verbs/drives/mount.ts";
import { openPageSchemas } from "../verbs/open-page.ts";
import { reconnectSchemas } from "../verbs/drives/reconnect.ts";
import { statusSchemas } from "../verbs/status.ts";
import { pauseSchemas } from "../verbs/pauses/pause.ts";
import { resumeSchemas } from "../verbs/pauses/resume.ts";
import { unmountSchemas } from "../verbs/drives/unmount.ts";
import { viewSchemas } from "../verbs/view.ts";

export const AGENT_TABLE = {
  view: viewSchemas,
  status: statusSchemas,
  openPage: openPageSchemas,
  mount: mountSchemas,
  unmount: unmountSchemas,
  reconnect: reconnectSchemas,
  pause: pauseSchemas,
  resume: resumeSchemas,
  line: lineSchemas,
};
