// Folders that chunks are taken from where they lie, for both ends; and how packs lie on a stick.
export * from "./memory-supply-index.ts";
export * from "./pack-index.ts";
export * from "./scan-folder.ts";
export * from "./stick-names.ts";
export * from "./supply-folder.ts";
export * from "./supply-index.ts";
export * from "./supply-limits.ts";
export * from "./supply-watch.ts";
