// Changes that a client asks for by message: what they ask of the tree, and which operation of which instance they are.
// oxlint-disable-next-line no-restricted-imports -- of one message without content
import { createHash } from "node:crypto";
import type { AttributeChange, RequestOf } from "@runnel/shared";
import { RunnelError, encodeCbor } from "@runnel/shared";
import type { Operation, OperationId, OperationResult } from "../../meta/meta-store.ts";
import { removalsOf } from "../../volume/whole-tree.ts";
import type { Placing } from "../../commit-log/queue.ts";
import { Results } from "../operation-order.ts";
import type { Numbered, Turn } from "../operation-order.ts";
import type { Call } from "./call.ts";

const NO_DATA = new Uint8Array(0);

/** Fields in which every change says which operation it is. */
interface NumberedRequest extends Numbered {
  timeNs?: bigint | undefined;
}

/**
 * Makes the handler of a change that is one operation on the tree, known once those before it have been executed. What
 * came earlier is in the commit queue by then, unless it waits for others itself: no handler awaits anything else
 * before it submits [W190].
 */
function asHandler<Request extends NumberedRequest>(
  asOperation: (request: Request, results: Results) => Operation,
  executed?: (request: Request, result: OperationResult, call: Call, results: Results) => Promise<void> | undefined,
): (request: Request, call: Call) => Promise<OperationResult> {
  return async (request, call) => {
    const { attachment, volume } = call;
    attachment.forgetUpTo(request.received, request.but);
    return attachment.order.run(inOrder(request), async (turn) => {
      const { results, placing } = await placeOf(request, turn);
      const operation = asOperation(request, results);
      const id = { ...operationId(attachment.instance, request.n, operation), ...timed(request.timeNs) };
      const { result, acknowledged } = await volume.submit(operation, id, attachment.holder, NO_DATA, placing);
      turn.executed(result);
      await executed?.(request, result, call, results);
      await acknowledged;
      return result;
    });
  };
}

export const CHANGES = {
  make: asHandler<RequestOf<"make">>(
    ({ folder, name, node, attributes }, results) => ({
      op: "make",
      folder: results.node(folder),
      name,
      node,
      attributes,
    }),
    ({ copyOf }, result, { volume, attachment }) =>
      copyOf === undefined ? undefined : volume.conflicts.noteCopy(copyOf, result, attachment.holder.name),
  ),
  link: asHandler<RequestOf<"link">>(({ node, folder, name }, results) => ({
    op: "link",
    node: results.node(node),
    folder: results.node(folder),
    name,
  })),
  rename: asHandler<RequestOf<"rename">>(
    ({ folder, name, node, toFolder, toName, how, expects }, results) => ({
      op: "rename",
      folder: results.node(folder),
      name,
      node: results.node(node),
      toFolder: results.node(toFolder),
      toName,
      how,
      ...(expects && { expects }),
    }),
    ({ toFolder, toName }, result, { volume, attachment }, results) => {
      if (!result.conflict) return undefined;
      const place = { folder: results.node(toFolder), name: toName };
      return volume.conflicts.noteCopy(place, result, attachment.holder.name);
    },
  ),
  remove: asHandler<RequestOf<"remove">>(({ folder, name, node, isFolder, expects }, results) => ({
    op: "remove",
    folder: results.node(folder),
    name,
    node: results.node(node),
    isFolder,
    ...(expects && { expects }),
  })),
  setAttr: asHandler<RequestOf<"setAttr">>(({ node, change, timeNs }, results) => ({
    op: "setAttr",
    node: results.node(node),
    change: givenAttributes(atTime(change, timeNs)),
  })),
};

/** Removes a folder with all below it, in one commit. */
export async function serveRemoveAll(
  request: RequestOf<"removeAll">,
  { attachment, volume }: Call,
): Promise<OperationResult> {
  const { instance, holder, order } = attachment;
  attachment.forgetUpTo(request.received, request.but);
  return order.run(inOrder(request), async (turn) => {
    const { results, placing } = await placeOf(request, turn);
    const { name, asOf, n, timeNs, isPartial = false } = request;
    const tree = { folder: results.node(request.folder), name, node: results.node(request.node), asOf, isPartial };
    const digest = digestOf(encodeCbor({ op: "removeAll", ...tree }));
    const id: OperationId = { instance, n, digest, ...timed(timeNs) };
    const { result, acknowledged } = await volume.submitBatch(
      () => removalsOf(volume, tree, id, holder),
      id,
      holder,
      placing,
    );
    turn.executed(result);
    await acknowledged;
    return result;
  });
}

/** Completes what a request says of its place: whoever names the result of another is after it. */
export function inOrder<Request extends { after?: readonly number[] | undefined }>(request: Request): Request {
  const named = operationsNamed(request);
  return named.length === 0 ? request : { ...request, after: [...new Set([...(request.after ?? []), ...named])] };
}

/**
 * Resolves when a request's turn has come, with the results that it names and its place in the commit queue. One that
 * names none need not wait until those before it have been executed: the queue decides them together.
 */
export async function placeOf(request: object, turn: Turn): Promise<{ results: Results; placing: Placing }> {
  const { tickets, before, queued } = turn;
  const results = operationsNamed(request).length === 0 ? NO_RESULTS : await before;
  return { results, placing: { after: await tickets, queued } };
}

const NO_RESULTS = new Results(new Map());

function operationsNamed(request: object): number[] {
  const said = REFERRING.map((field) => (request as Partial<Record<string, unknown>>)[field]);
  return said
    .filter((value) => typeof value === "number")
    .filter((value) => value < 0)
    .map((value) => -value);
}

/** Fields that may be the result of another operation (W63). */
const REFERRING = ["node", "folder", "toFolder", "base"] as const;

/** Makes the time field of an OperationId. */
export function timed(timeNs: bigint | undefined): { timeNs?: bigint } {
  return timeNs === undefined ? {} : { timeNs };
}

/**
 * Identity of an operation is its number and what it says, but for what it expects: a repeated number that says
 * something else is refused.
 */
function operationId(instance: string, n: number, operation: Operation): OperationId {
  const { expects: _, ...said } = { expects: undefined, ...operation };
  return { instance, n, digest: digestOf(encodeCbor(said)) };
}

const HALF_BYTES = 16;

/** Digest of a write's fields that are known before its content: the first half of its digest. */
export function digestOfOpening({
  node,
  base,
  sizeBytes,
}: Pick<RequestOf<"write">, "node" | "base" | "sizeBytes">): Uint8Array {
  return digestOf(encodeCbor({ op: "write", node, base, sizeBytes })).subarray(0, HALF_BYTES);
}

/** Both halves: that of the opening, and one of the content. */
export function digestOfWrite(opening: Uint8Array, oid: Uint8Array): Uint8Array {
  return Buffer.concat([opening, digestOf(Buffer.concat([opening, oid])).subarray(0, HALF_BYTES)]);
}

export function isSameOpening(digest: Uint8Array, opening: Uint8Array): boolean {
  return Buffer.compare(digest.subarray(0, HALF_BYTES), opening) === 0;
}

function digestOf(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(createHash("sha256").update(bytes).digest());
}

type Change = RequestOf<"setAttr">["change"];

/** With the operation's own time for what is to have that. @throws Invalid when it has none. */
function atTime(
  { mtimeNs, ...rest }: Change,
  timeNs: bigint | undefined,
): Omit<Change, "mtimeNs"> & { mtimeNs?: bigint | undefined } {
  if (mtimeNs !== null) return { ...rest, mtimeNs };
  if (timeNs !== undefined) return { ...rest, mtimeNs: timeNs };
  throw new RunnelError("Invalid", "setAttr", "A change at its own time has none.", { detail: { rule: "W25" } });
}

/** Without the fields that were not given. */
export function givenAttributes(change: RequestOf<"write">["attributes"]): Omit<AttributeChange, "sizeBytes"> {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
}
