// What both ends agree on.
export * from "./errors.ts";
export * from "./limits.ts";
export * from "./host/clock.ts";
export * from "./host/disk.ts";
export * from "./host/executor.ts";
export * from "./host/link.ts";
export * from "./model/node.ts";
export * from "./model/recipe.ts";
export * from "./protocol/cbor.ts";
export * from "./protocol/channel.ts";
export * from "./protocol/connection.ts";
export * from "./protocol/frame.ts";
export * from "./protocol/messages.ts";
export * from "./protocol/recipe-delta.ts";
