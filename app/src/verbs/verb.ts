// A verb that the agent answers: what is asked and given, how the agent answers it, and its command.
import type { CallRequest, Call, CallSchemas, CallResult, CallPart } from "@runnel/shared";
import type { Command } from "commander";
import type { Agent } from "../agent/agent.ts";
import type { Output } from "../cli/output.ts";

export interface AgentVerb<C extends CallSchemas = CallSchemas> {
  /** The result of a request. What it throws is sent as an error. */
  handle(agent: Agent, request: CallRequest<C>, call: Call<CallPart<C>>): Promise<CallResult<C>>;
  /** Adds the command to the command line; undefined where only programs ask. */
  addCommand?(program: Command, output: Output): void;
}

/** Puts a verb together, for the table of all. */
export function agentVerb<C extends CallSchemas>(schemas: C, verb: AgentVerb<C>): C & AgentVerb<C> {
  return { ...schemas, ...verb };
}
