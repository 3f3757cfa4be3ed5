// The tidy checks: what a machine can say about how the project reads. Each is a pure function over the list of files.
export * from "./check-columns.ts";
export * from "./check-comments.ts";
export * from "./check-docs.ts";
export * from "./check-imports.ts";
export * from "./check-limits.ts";
export * from "./check-rules.ts";
export * from "./check-shape.ts";
export * from "./check-text.ts";
export * from "./check-words.ts";
export * from "./project.ts";
