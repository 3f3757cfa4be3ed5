// The client for programs. docs/transfer.md shows how it is used.
export { RunnelError, isRunnelError } from "@runnel/shared/base";
export * from "./client.ts";
