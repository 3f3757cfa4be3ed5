// The control API: what the agent offers its faces (command line, tray) and how they reach it.
export { connectAgent } from "./connect-agent.ts";
export { ControlServer } from "./control-server.ts";
export { AgentHome, type AgentRecord, homeFolder, type MountRecord } from "./host/agent-home.ts";
export { type AgentLock, takeLock } from "./host/agent-lock.ts";
export { type FolderView, systemFolders } from "./host/folder-view.ts";
export { closeLog, LogFile, openLog } from "./host/log-file.ts";
export type { MountTable } from "./host/mount-table.ts";
export { LinuxMountTable } from "./host/posix/mount-table.ts";
export { thisSystem } from "./host/this-system.ts";
export { checkMountPoint, resolvePath } from "./mount-point.ts";
export { prepareHome } from "./prepare-home.ts";
export { quoted } from "./quoted.ts";
export { isUrl, volumeOf, volumeUrl } from "./volume-url.ts";
export * from "./protocol.ts";
