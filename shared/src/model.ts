// Exports the words of the model alone: errors, limits, clocks, names, nodes, recipes, CBOR. Threads and tools that
// speak no wire start with these, without the modules of the whole.
export * from "./errors.ts";
export * from "./limits.ts";
export * from "./host/clock.ts";
export * from "./host/disk.ts";
export { nextTurn } from "./host/next-turn.ts";
export * from "./model/chunk-presets.ts";
export * from "./model/cut-kind.ts";
export * from "./model/chunk-spans.ts";
export * from "./model/name-text.ts";
export * from "./model/names.ts";
export * from "./model/node.ts";
export * from "./model/notice.ts";
export * from "./model/object-uri.ts";
export * from "./model/objects.ts";
export { type NumberSpan, isInSpan, spansOf } from "./model/number-span.ts";
export { parsePredicate } from "./model/parse-predicate.ts";
export * from "./model/predicate.ts";
export { RecentMap } from "./model/recent-map.ts";
export * from "./model/recipe.ts";
export * from "./model/recipe-index.ts";
export { SmoothedRate } from "./model/smoothed-rate.ts";
export * from "./model/xattrs.ts";
export * from "./protocol/cbor.ts";
