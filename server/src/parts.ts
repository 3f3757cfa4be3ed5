// The parts of a server for whoever composes one on other ground than this machine's: a simulation.
export { Feed } from "./feed/feed.ts";
export { Holder } from "./feed/holder.ts";
export type { RunningServer } from "./index.ts";
export { MetaFront } from "./meta/meta-front.ts";
export { MemoryTables } from "./meta/memory-tables.ts";
export { MemoryMetaImage, openMemoryMetaStore } from "./meta/memory-meta-store.ts";
export { openSqliteMetaStore } from "./meta/sqlite-meta-store.ts";
export { SqliteTables } from "./meta/sqlite-tables.ts";
export type { MetaStore, Operation, Planned, PlanRequest } from "./meta/meta-store.ts";
export { type VolumeHost, lookAtFolder, openVolume } from "./open-volume.ts";
export type { OpenedVolume } from "./served-volume.ts";
export { serve } from "./server.ts";
export { Volume } from "./volume/volume.ts";
export { Attachment } from "./wire/attachment.ts";
