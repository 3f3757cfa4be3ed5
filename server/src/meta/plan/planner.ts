// The planner: decides one operation over the tables of an open transaction, by the rules of the tree
// (@runnel/shared/tree), and applies it to them. No clock, no I/O; the same requests over the same rows come to the
// same rows on every engine.
import { LIMITS, RunnelError, isRunnelError } from "@runnel/shared/model";
import { type Decision, planOperation, refusal } from "@runnel/shared/tree";
import type { VersionId } from "@runnel/shared";
import type { ExternalOperation, Operation, PlanRequest, Planned } from "../meta-store.ts";
import type { MetaTables } from "../meta-tables.ts";
import { mustNotBeOthers } from "../node-ranges.ts";
import { apply } from "./apply.ts";
import { decideSetRecipe, decideWrite } from "./content.ts";
import { asExpected } from "./expected.ts";
import * as external from "./external.ts";
import { pathBefore, pathsAfter } from "./paths.ts";

export interface PlannedRequest {
  planned: Planned;
  /** The version whose bytes are in the request's log record: the commit names the place. */
  content: VersionId | undefined;
}

function decide(
  tables: MetaTables,
  operation: Operation | ExternalOperation,
  wallNs: bigint,
  instance: string,
): Decision {
  switch (operation.op) {
    case "make":
    case "link":
    case "rename":
    case "remove":
    case "setAttr":
      return planOperation(tables, operation, wallNs, instance);
    case "write":
      return decideWrite(tables, operation, wallNs, instance);
    case "externalMake":
      return external.decideExternalMake(tables, operation, wallNs);
    case "externalLink":
      return external.decideExternalLink(tables, operation, wallNs);
    case "externalRename":
      return external.decideExternalRename(tables, operation, wallNs);
    case "externalRemove":
      return external.decideExternalRemove(tables, operation, wallNs);
    case "externalAttributes":
      return external.decideExternalAttributes(tables, operation, wallNs);
    case "externalWrite":
      return external.decideExternalWrite(tables, operation, wallNs);
    case "setRecipe":
      return decideSetRecipe(tables, operation);
  }
}

/**
 * The stored answer when the operation was executed before. @throws Invalid for a number used again, Busy when too many
 * are not reported received.
 */
function executedBefore(tables: MetaTables, request: PlanRequest): Planned | undefined {
  if (request.id === undefined || request.id.isStep === true) return undefined;
  const { instance, n, digest } = request.id;
  const stored = tables.result(instance, n);
  if (stored !== undefined) {
    if (Buffer.compare(stored.digest, digest) !== 0) {
      throw refusal("Invalid", `Operation ${n} was another one before.`, { rule: "operation id" });
    }
    return { ok: true, result: stored.result, change: undefined, isRepeated: true };
  }
  if (tables.countResults(instance) >= LIMITS.outstandingOperations) {
    throw refusal("Busy", "Too many results are not reported received.", { limit: LIMITS.outstandingOperations });
  }
  return undefined;
}

/** Rolling forward: exactly what was decided then; a change that is already in is left as it is. */
function replay(
  tables: MetaTables,
  request: PlanRequest,
  replayed: NonNullable<PlanRequest["replayed"]>,
): PlannedRequest {
  const { change, result } = replayed;
  const { seq } = tables.facts();
  const isIn = change !== undefined && change.seq <= seq;
  if (change !== undefined && change.seq > seq + 1) {
    throw new RunnelError("Corrupt", "roll forward", `The log goes on at seq ${change.seq}, the index ends at ${seq}.`);
  }
  const content = isIn ? undefined : apply(tables, request, { change, result });
  return { planned: { ok: true, result, change, isRepeated: isIn }, content };
}

/** The answer of an operation executed before, or what is to be done. @throws RunnelError for a refusal. */
function answerOrDecide(tables: MetaTables, request: PlanRequest): Planned {
  const repeated = executedBefore(tables, request);
  if (repeated !== undefined) return repeated;
  const { id, operation, owner, wallNs } = request;
  const instance = id?.instance ?? "";
  if (operation.op === "make" && owner !== undefined) mustNotBeOthers(tables, operation.node, owner);
  const expecting = asExpected(tables, operation, wallNs, instance);
  const decision = decide(tables, expecting?.operation ?? operation, id?.timeNs ?? wallNs, instance);
  if (expecting?.isBeside === true) decision.result.conflict = true;
  const other = expecting === undefined ? {} : { operation: expecting.operation };
  return { ok: true, ...decision, isRepeated: false, ...other };
}

function answerOrRefuse(tables: MetaTables, request: PlanRequest): Planned {
  try {
    return answerOrDecide(tables, request);
  } catch (error) {
    if (!isRunnelError(error) || error.kind === "Corrupt") throw error;
    const { kind, message, detail } = error;
    return { ok: false, error: { kind, message, detail } };
  }
}

/**
 * Decides and applies one request; a refused one leaves the tables as they were. @throws RunnelError Corrupt for
 * damaged tables or a log with a gap: the transaction must be rolled back.
 */
export function planRequest(tables: MetaTables, request: PlanRequest): PlannedRequest {
  if (request.replayed !== undefined) return replay(tables, request, request.replayed);
  const before = pathBefore(tables, request.operation);
  const planned = answerOrRefuse(tables, request);
  if (!planned.ok || planned.isRepeated) return { planned, content: undefined };
  const { change, result, operation = request.operation } = planned;
  const content = apply(tables, { ...request, operation }, planned);
  if (change !== undefined) planned.paths = pathsAfter(tables, operation, { change, result }, before);
  return { planned, content };
}
