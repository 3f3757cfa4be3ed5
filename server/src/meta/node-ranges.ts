// Owners of node ids: one row for what a device was given in one go. Ids without a row are nobody's, and all may use
// them.
import { refusal } from "@runnel/shared/tree";
import type { NodeOwner } from "./meta-store.ts";
import type { MetaTables, OwnedNodes } from "./meta-tables.ts";

/** Ranges of a device that are remembered: when there are more, the smallest have no owner any more. */
const DEVICE_RANGES_MAX = 1000;

/** Records the range that was given out last; it goes on the one before where that is the same owner's. */
export function giveNodes(tables: MetaTables, given: OwnedNodes): void {
  const { device, instance } = given.owner;
  const before = tables.rangeWith(given.first - 1);
  const isSame = before?.owner.device === device && before.owner.instance === instance;
  if (isSame) return tables.putRange({ ...before, count: before.count + given.count });
  tables.putRange(given);
  if (tables.countRanges(device) <= DEVICE_RANGES_MAX) return;
  const [smallest] = tables.rangesOf(device);
  if (smallest !== undefined) tables.removeRange(smallest.first);
}

/** @throws Invalid for an id that was given to somebody else, who may be away with it. */
export function mustNotBeOthers(tables: Pick<MetaTables, "rangeWith">, node: number, asking: NodeOwner): void {
  const owner = tables.rangeWith(node)?.owner;
  if (owner === undefined || owner.device === asking.device || owner.instance === asking.instance) return;
  throw refusal("Invalid", `Node id ${node} was not given to this device.`, { rule: "node id" });
}
