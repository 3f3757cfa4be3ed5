// Defines a request of the wire. One definition is all that either end, the tests and the fuzzer know of it; the server
// has a handler for each (server/src/wire/requests).
import type { z } from "zod";
import { LIMITS } from "../../limits.ts";
import type { VersionId } from "../../model/node.ts";
import { nanoseconds } from "../fields.ts";
import { count, counts, spans } from "../numbers.ts";

/**
 * Right on the volume of its attachment that a request needs (W72); "none" is for those that are asked without an
 * attachment.
 */
export type RequestRight = "none" | "read" | "write";

export interface RequestDefinition<Right extends RequestRight, Form extends z.ZodType, Result extends z.ZodType> {
  right: Right;
  request: Form;
  /** Form of what the server ends the channel with; of the first item where the channel stays open (attach). */
  result: Result;
  /**
   * The answer is made whole, may be as long as a control message, and waits for nobody: few are made at a time (W163).
   */
  isAnsweredWhole?: true;
  /** Side whose bulk comes with it; there is none on any other request (W8). */
  bulkFrom?: "client" | "server";
  /**
   * A request that is answered without an error, on a volume that has the tree; the field `attachment` and those of a
   * change's number are left out.
   */
  sample(tree: SampleTree): Omit<z.input<Form>, Numbering>;
}

type Numbering = "attachment" | "n" | "received";

/** A file of ten bytes or more, named `file`, and an empty folder, named `folder`, both in the root. */
export interface SampleTree {
  file: VersionId;
  folder: number;
  /** Node id of the client's range that nothing has yet. */
  newNode: number;
}

export function defineRequest<Right extends RequestRight, Form extends z.ZodType, Result extends z.ZodType>(
  definition: RequestDefinition<Right, Form, Result>,
): RequestDefinition<Right, Form, Result> {
  return definition;
}

/** Field that every request on a volume carries: the attachment that it belongs to. */
export const attached = { attachment: count };

/**
 * Fields that every change carries: its number within the instance's journal (executed once), the number up to which
 * all results were received `but` for those of these spans, and when the program did it by the client's clock.
 */
export const numbered = {
  ...attached,
  n: count,
  received: count,
  but: spans(LIMITS.notReceived).optional(),
  timeNs: nanoseconds.optional(),
  /** Operations of the instance after which it is executed, and only if they were. */
  after: counts(LIMITS.operationsAfter).optional(),
};
