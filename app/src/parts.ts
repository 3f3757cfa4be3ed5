// The parts of an agent's mount for whoever composes one on other ground than this machine's: a simulation.
export { openCache } from "./agent/cache/content-cache.ts";
export { DriveHost } from "./agent/drive/drive-host.ts";
export { openJournal } from "./agent/journal/log-journal.ts";
export type { Mount, MountStatus } from "./agent/mount.ts";
export { MountedVolume } from "./agent/mounted-volume.ts";
export { openMountWith } from "./agent/open-mount.ts";
export { openReplica } from "./agent/replica/sqlite-replica.ts";
export { Session } from "./agent/wire/session.ts";
