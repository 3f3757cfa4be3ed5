// Exports the parts that both ends agree on.
export * from "./errors.ts";
export * from "./limits.ts";
export { CallClient, type CallClientSettings } from "./calls/call-client.ts";
export { CallServer, type CallServerSettings } from "./calls/call-server.ts";
export type { CallRequest, Call, CallSchemas, CallTable, CallResult, CallPart } from "./calls/call-table.ts";
export type { Carrier } from "./calls/carrier.ts";
export { LineCarrier } from "./calls/line-carrier.ts";
export { WsCarrier } from "./calls/ws-carrier.ts";
export { callUpgrades, type TakeUpgrade } from "./host/call-upgrades.ts";
export { silent } from "./host/carrier.ts";
export * from "./host/clock.ts";
export * from "./host/crowd.ts";
export * from "./host/disk.ts";
export * from "./host/executor.ts";
export * from "./host/link.ts";
export { isProof } from "./host/local/local-proof.ts";
export { LocalSecrets } from "./host/local/local-secrets.ts";
export * from "./host/mount-info.ts";
export { nextTurn } from "./host/next-turn.ts";
export * from "./host/local/private-socket.ts";
export * from "./host/real-clock.ts";
export * from "./host/run-memory.ts";
export * from "./host/simulated/seeded-random.ts";
export * from "./host/simulated/simulated-clock.ts";
export * from "./host/simulated/simulated-disk.ts";
export * from "./host/simulated/simulated-link.ts";
export * from "./host/simulated/simulated-network.ts";
export { keepHeapSmall, passedThrough } from "./host/small-heap.ts";
export { parseProxy } from "./host/dial/proxy-tunnel.ts";
export { addressOf, isLoopback, placeOf, type ServerAddress } from "./host/dial/server-address.ts";
export { fingerprintOf, type ServerTrust } from "./host/dial/server-trust.ts";
export * from "./host/whole-file.ts";
export * from "./host/ws-acceptor.ts";
export { WIRE_PATH, WIRE_SUBPROTOCOL, WsDialer } from "./host/ws-link.ts";
export * from "./log/log.ts";
export { openLog } from "./log/open-log.ts";
export type { LogFormat } from "./log/segment-format.ts";
export * from "./model/chunk-presets.ts";
export * from "./model/name-text.ts";
export * from "./model/names.ts";
export * from "./model/node.ts";
export * from "./model/notice.ts";
export { parsePredicate } from "./model/parse-predicate.ts";
export * from "./model/predicate.ts";
export { RecentMap } from "./model/recent-map.ts";
export * from "./model/recipe.ts";
export * from "./model/recipe-index.ts";
export * from "./model/xattrs.ts";
export * from "./protocol/cbor.ts";
export * from "./protocol/channel.ts";
export * from "./protocol/connection.ts";
export * from "./protocol/frame.ts";
export * from "./protocol/invite.ts";
export * from "./protocol/label.ts";
export { PROTOCOL_FEATURES, PROTOCOL_VERSION } from "./protocol/requests/handshake.ts";
export { check, packChange, packState, packType, packVersion, type SentState } from "./protocol/fields.ts";
export * from "./protocol/feed-messages.ts";
export type { SampleTree } from "./protocol/requests/definition.ts";
export * from "./protocol/requests/index.ts";
export * from "./protocol/requests/status-items.ts";
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
