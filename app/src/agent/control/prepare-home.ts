// The agent's home, ready for an agent: on no drive, there, and its user's alone.
import { RealClock } from "@runnel/shared/base";
import type { AgentHome } from "./host/agent-home.ts";
import { systemFolders } from "./host/folder-view.ts";
import { thisSystem } from "./host/this-system.ts";
import { resolveOwnFolder } from "./mount-point.ts";

/** @throws RunnelError with a sentence for whoever set RUNNEL_HOME. */
export async function prepareHome(home: AgentHome): Promise<void> {
  await resolveOwnFolder(home.folder, await thisSystem.mountTable(new RealClock()).read(), systemFolders);
  home.make();
}
