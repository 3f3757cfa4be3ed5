// Classes of an agent's mount for whoever composes one on other ground than this machine's: a simulation.
export { LinuxMountTable } from "./agent/control/index.ts";
export { OwnChanges } from "./agent/changes/own-changes.ts";
export { WriteBack } from "./agent/changes/write-back.ts";
export { FeedApplier } from "./agent/drive/feed-applier.ts";
export { Saves } from "./agent/drive/saving/saves.ts";
export { RequestHandler } from "./agent/drive/request-handler.ts";
export { Names } from "./agent/drive/names.ts";
export type { Mount } from "./agent/mount.ts";
export type { MountStatus } from "./agent/mount-status.ts";
export { Lifecycle } from "./agent/mounted-volume/lifecycle.ts";
export { MountedVolume } from "./agent/mounted-volume/mounted-volume.ts";
export { openMountWith } from "./agent/open-mount.ts";
export type { Replica } from "./agent/replica/replica.ts";
export { HeldElsewhere } from "./agent/leases/held-elsewhere.ts";
export { Lease } from "./agent/leases/lease.ts";
export { Listings } from "./agent/wire/listings.ts";
export { OwnTime } from "./agent/wire/own-time.ts";
export { Session } from "./agent/wire/session.ts";
