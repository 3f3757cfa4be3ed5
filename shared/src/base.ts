// Exports the model, and what commands ask a running agent or server with: calls over local sockets, clocks, files. A
// command starts with these, without the wire.
export * from "./model.ts";
export { CallClient, type CallClientSettings } from "./calls/call-client.ts";
export { CallServer, type CallServerSettings } from "./calls/call-server.ts";
export type { CallRequest, Call, CallSchemas, CallTable, CallResult, CallPart } from "./calls/call-table.ts";
export { applied, changesBetween } from "./calls/view-state.ts";
export type { ListChange, ViewChanges, ViewItem, ViewPart, ViewState } from "./calls/view-state.ts";
export type { Carrier } from "./calls/carrier.ts";
export { LineCarrier } from "./calls/line-carrier.ts";
export { isProof } from "./host/local/local-proof.ts";
export { LocalSecrets } from "./host/local/local-secrets.ts";
export * from "./host/mount-info.ts";
export * from "./host/local/private-socket.ts";
export { Condition } from "./host/condition.ts";
export * from "./host/pause.ts";
export * from "./host/real-clock.ts";
export { keepHeapSmall, passedThrough } from "./host/small-heap.ts";
export { addressOf, isLoopback, placeOf, type ServerAddress } from "./host/dial/server-address.ts";
export { type AddressRange, addressRange } from "./host/dial/address-range.ts";
export { cannotListen } from "./host/cannot-listen.ts";
export { givenAuthorities, givenIdentity, vouchesForItself } from "./host/identity/given-identity.ts";
export * from "./host/whole-file.ts";
export { SteppedRoot } from "./host/stepped-root.ts";
export { SCAN_REASONS } from "./protocol/requests/status-items.ts";
export * from "./protocol/label.ts";
