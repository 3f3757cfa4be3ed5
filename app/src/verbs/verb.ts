// A verb that the agent answers: what is asked and given, how the agent answers it, and its command.
import type { CallRequest, Call, CallSchemas, CallResult, CallPart } from "@runnel/shared";
import type { Command } from "commander";
import type { z } from "zod";
import type { Agent } from "../agent/agent.ts";
import type { Output } from "../cli/output.ts";

export interface AgentVerb<C extends CallSchemas = CallSchemas> {
  /** The result of a request. What it throws is sent as an error. */
  handle(agent: Agent, request: CallRequest<C>, call: Call<CallPart<C>>): Promise<CallResult<C>>;
  /**
   * Schema of what a page in the browser may ask, which is what the command line may, or less: no path at which a file
   * is read or written that lies on no drive. Left out: no page may call this verb.
   */
  pageAsks?: z.ZodType<CallRequest<C>>;
  /** Adds the command to the command line; undefined where only programs ask. */
  addCommand?(program: Command, output: Output): void;
}

/** Puts a verb together, for the table of all. */
export function agentVerb<C extends CallSchemas>(schemas: C, verb: AgentVerb<C>): C & AgentVerb<C> {
  return { ...schemas, ...verb };
}
