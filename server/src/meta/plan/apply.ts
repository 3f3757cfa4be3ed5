// Applying a decision: everything that is stored follows from the operation, the change, the result and the rows before
// it. A live commit and the roll forward of the log both pass here, so a replay makes the same rows as the commit did.
import { NODE_LIMIT, changeXattrs } from "@runnel/shared/model";
import type { Change, VersionId } from "@runnel/shared";
import type {
  DiskRow,
  DiskXattrs,
  ExternalOperation,
  Operation,
  OperationResult,
  PlanRequest,
  VersionPlace,
} from "../meta-store.ts";
import { forgetSpent } from "../spent-versions.ts";
import type { MetaTables } from "../meta-tables.ts";
import { recipeOf } from "./content.ts";
import type { Decision } from "@runnel/shared/tree";

/** Until the commit names the log record. */
const PLACE_TO_COME: VersionPlace = { at: "pending", segment: 0, offset: 0, length: 0 };

function applyTree(tables: MetaTables, change: Change, instance: string): void {
  const states = new Map(change.nodes.map((state) => [state.node, state]));
  for (const { folder, name, node } of change.bindings) {
    const before = tables.binding(folder, name);
    if (before !== undefined && states.get(before)?.nlink === 0) {
      tables.putLastName(before, { folder, name, instance });
    }
    if (node === 0) tables.removeBinding(folder, name);
    else tables.putBinding(folder, name, node);
  }
  for (const state of change.nodes) tables.putNode(state);
}

function putVersion(
  tables: MetaTables,
  version: VersionId,
  sizeBytes: number,
  hasRecipe: boolean,
  place: VersionPlace,
): void {
  const isEmpty = sizeBytes === 0;
  tables.putVersion({ version, sizeBytes, hasRecipe: hasRecipe || isEmpty, place: isEmpty ? { at: "empty" } : place });
  if (isEmpty) forgetSpent(tables, version.node);
}

/** Stores the extended attributes that the operation leaves. */
function applyXattrs(tables: MetaTables, operation: Operation | ExternalOperation, { node }: OperationResult): void {
  switch (operation.op) {
    case "setAttr": {
      const { xattr } = operation.change;
      if (xattr !== undefined) tables.putXattrs(node, changeXattrs(tables.xattrs(node), xattr));
      return;
    }
    case "write":
      // Kept beside as another node.
      if (node !== operation.node) tables.putXattrs(node, tables.xattrs(operation.node));
      return;
    case "externalMake":
      if (operation.xattrs !== undefined) tables.putXattrs(node, operation.xattrs);
      return;
    case "externalWrite":
    case "externalAttributes":
      if (operation.change.xattrs !== undefined) tables.putXattrs(node, operation.change.xattrs);
      return;
    default:
      return;
  }
}

/** Stores the version made, if one was. Returns it when its bytes are in the log record. */
function applyContent(
  tables: MetaTables,
  operation: Operation | ExternalOperation,
  result: OperationResult,
): VersionId | undefined {
  const version = { node: result.node, seq: result.version };
  switch (operation.op) {
    case "make":
      if (operation.attributes.type === "file") putVersion(tables, version, 0, true, { at: "empty" });
      return undefined;
    case "externalMake":
      if (operation.attributes.type === "file") putVersion(tables, version, operation.sizeBytes, false, { at: "disk" });
      return undefined;
    case "externalWrite":
      putVersion(tables, version, operation.sizeBytes, false, { at: "disk" });
      return undefined;
    case "write": {
      const { sizeBytes, recipe } = operation.content;
      putVersion(tables, version, sizeBytes, recipe !== undefined, PLACE_TO_COME);
      const stored = recipeOf(sizeBytes, recipe);
      if (stored !== undefined) tables.putRecipe(version, stored);
      return sizeBytes === 0 ? undefined : version;
    }
    default:
      return undefined;
  }
}

/** The bytes of a version that was on disk are gone. */
function lose(tables: MetaTables, version: VersionId): void {
  const row = tables.version(version);
  if (row?.place.at !== "disk") return;
  tables.putVersion({ ...row, place: { at: "lost" } });
  forgetSpent(tables, version.node);
}

/** A name is no longer on disk; with the last one of a node its bytes are gone. */
function dropDiskName(tables: MetaTables, folder: number, name: string): void {
  const row = tables.diskRow(folder, name);
  if (row === undefined) return;
  tables.removeDiskRow(folder, name);
  if (tables.diskRowsOfNode(row.node).length === 0) lose(tables, { node: row.node, seq: row.version });
}

/**
 * The version whose bytes the node's file held before the operation. Rolling forward, the rows can be older than what
 * the operation met, since what is applied is not in the log; live, an operation before it in the batch can have
 * made them newer.
 */
function versionBefore(rows: readonly DiskRow[], { version }: DiskRow): number {
  return rows.reduce((newest, row) => Math.max(newest, row.version), version);
}

function withXattrs({ xattrs: _before, ...row }: DiskRow, xattrs: DiskXattrs | undefined): DiskRow {
  return xattrs === undefined ? row : { ...row, xattrs };
}

/** Every row of the node tells of the same file; one that has none yet (the root) gets the given one. */
function refreshDiskRows(
  tables: MetaTables,
  node: number,
  disk: DiskRow,
  version: number,
  xattrs: DiskXattrs | undefined,
): void {
  const rows = tables.diskRowsOfNode(node);
  for (const row of rows.length > 0 ? rows : [{ ...disk, node }]) {
    tables.putDiskRow(withXattrs({ ...row, handle: disk.handle, stat: disk.stat, version }, xattrs));
  }
}

function applyDisk(tables: MetaTables, operation: ExternalOperation, result: OperationResult): void {
  switch (operation.op) {
    case "externalMake": {
      const { folder, name, disk } = operation;
      tables.putDiskRow({ ...disk, node: result.node, folder, name, version: result.version });
      return;
    }
    case "externalLink": {
      const { node, folder, name, disk } = operation;
      const rows = tables.diskRowsOfNode(node);
      const version = versionBefore(rows, disk);
      refreshDiskRows(tables, node, disk, version, rows[0]?.xattrs);
      tables.putDiskRow(withXattrs({ ...disk, node, folder, name, version }, rows[0]?.xattrs));
      return;
    }
    case "externalRename": {
      const { folder, name, node, toFolder, toName, disk } = operation;
      const rows = tables.diskRowsOfNode(node);
      const version = versionBefore(rows, disk);
      // Rolling forward, an older row can have the node there already: its bytes are not lost by coming back.
      if (tables.diskRow(toFolder, toName)?.node !== node) dropDiskName(tables, toFolder, toName);
      tables.removeDiskRow(folder, name);
      tables.putDiskRow(withXattrs({ ...disk, node, folder: toFolder, name: toName, version }, rows[0]?.xattrs));
      return;
    }
    case "externalRemove":
      dropDiskName(tables, operation.folder, operation.name);
      return;
    case "externalAttributes": {
      const { node, disk } = operation;
      refreshDiskRows(tables, node, disk, versionBefore(tables.diskRowsOfNode(node), disk), disk.xattrs);
      return;
    }
    case "externalWrite": {
      const { node, disk } = operation;
      lose(tables, { node, seq: versionBefore(tables.diskRowsOfNode(node), disk) });
      refreshDiskRows(tables, node, disk, result.version, disk.xattrs);
      return;
    }
    case "setRecipe":
      return;
  }
}

function isExternal(operation: Operation | ExternalOperation): operation is ExternalOperation {
  return operation.op.startsWith("external") || operation.op === "setRecipe";
}

function applyChange(
  tables: MetaTables,
  request: PlanRequest,
  change: Change,
  result: OperationResult,
): VersionId | undefined {
  const { operation, id } = request;
  applyTree(tables, change, id?.instance ?? "");
  const content = applyContent(tables, operation, result);
  applyXattrs(tables, operation, result);
  if (isExternal(operation)) applyDisk(tables, operation, result);
  tables.putChange(change);
  const facts = tables.facts();
  const nextNode = change.nodes.reduce((next, { node }) => Math.max(next, node + 1), facts.nextNode);
  tables.putFacts({ ...facts, seq: change.seq, nextNode: Math.min(nextNode, NODE_LIMIT) });
  return content;
}

function applyRecipe(tables: MetaTables, operation: Operation | ExternalOperation): void {
  if (operation.op !== "setRecipe") return;
  const row = tables.version(operation.version);
  if (row === undefined || row.hasRecipe) return;
  tables.putRecipe(operation.version, operation.recipe);
  tables.putVersion({ ...row, hasRecipe: true });
}

/** Stores what was decided. Returns the version whose bytes are in the operation's log record, if it made one. */
export function apply(tables: MetaTables, request: PlanRequest, decision: Decision): VersionId | undefined {
  const { change, result } = decision;
  applyRecipe(tables, request.operation);
  const content = change === undefined ? undefined : applyChange(tables, request, change, result);
  if (request.id !== undefined && request.id.isStep !== true) {
    const { instance, n, digest } = request.id;
    tables.putResult(instance, n, { digest, result });
  }
  return content;
}
