// Exports the parts that both ends agree on.
export * from "./base.ts";
export { WsCarrier } from "./calls/ws-carrier.ts";
export { callUpgrades, type TakeUpgrade } from "./host/call-upgrades.ts";
export { silent } from "./host/carrier.ts";
export * from "./admission/crowd.ts";
export * from "./admission/failed-tries.ts";
export * from "./model/wrong-in.ts";
export * from "./host/executor.ts";
export { hasOwnIdentity, ownIdentity, type IdentityOwner } from "./host/identity/own-identity.ts";
export type { TlsIdentity } from "./host/identity/tls-identity.ts";
export * from "./host/link.ts";
export * from "./host/run-memory.ts";
export * from "./host/simulated/seeded-random.ts";
export * from "./host/simulated/simulated-clock.ts";
export * from "./host/simulated/simulated-disk.ts";
export * from "./host/simulated/simulated-link.ts";
export * from "./host/simulated/simulated-network.ts";
export { parseProxy } from "./host/dial/proxy-tunnel.ts";
export { fingerprintOf, type ServerTrust } from "./host/dial/server-trust.ts";
export * from "./host/ws-acceptor.ts";
export { WIRE_PATH, WIRE_SUBPROTOCOL, WsDialer } from "./host/ws-link.ts";
export * from "./log/log.ts";
export { openLog } from "./log/open-log.ts";
export type { LogFormat } from "./log/segment-format.ts";
export * from "./protocol/channel.ts";
export * from "./protocol/connection.ts";
export * from "./protocol/frame.ts";
export * from "./protocol/invite.ts";
export {
  FIXED_CHUNKS_FEATURE,
  PROTOCOL_FEATURES,
  RECIPES_ONLY_FEATURE,
  PROTOCOL_VERSION,
  SUPPLY_FEATURE,
} from "./protocol/requests/handshake.ts";
export { check, packChange, packState, packType, packVersion, type SentState } from "./protocol/fields.ts";
export * from "./protocol/feed-messages.ts";
export type { SampleTree } from "./protocol/requests/definition.ts";
export * from "./protocol/colleagues/ticket.ts";
export {
  COLLEAGUES_FEATURE,
  GET_CHUNKS,
  type SeenColleague,
  type ColleaguePlace,
} from "./protocol/requests/colleagues.ts";
export * from "./protocol/requests/index.ts";
export * from "./protocol/requests/status-items.ts";
export { type SeenOpener } from "./protocol/requests/volume.ts";
export { FIND_ITEM, FIND_ITEMS, type FindItem } from "./protocol/requests/tree.ts";
export {
  FETCH_ITEM,
  FIND_GET_ITEM,
  type FetchEncoding,
  type FetchItem,
  type FindGetItem,
} from "./protocol/requests/read.ts";
export {
  ACCEPTED_BYTES,
  ACCEPTED_STEP,
  WRITE_ITEM,
  WRITE_REPLY,
  type RunEncoding,
  type SentRunEncoding,
  type WriteItem,
} from "./protocol/requests/write.ts";
export * from "./protocol/delta-regions.ts";
export * from "./protocol/recipe-delta.ts";
export * from "./protocol/run-packer.ts";
