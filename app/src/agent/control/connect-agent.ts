// A face's way to the agent that listens on a socket.
import { connect } from "node:net";
import { CallClient, type CallTable, type Clock, LineCarrier, RunnelError } from "@runnel/shared/base";
import { CONTROL_FEATURES, CONTROL_LIMITS, CONTROL_VERSION } from "./protocol.ts";

const SENTENCES = {
  silent: "The agent does not answer. End it, then try again.",
  ended: "The agent ended before it answered. Try again.",
  notUnderstood: `The agent's answer was not understood. Run "runnel stop", then try again.`,
};

/**
 * Connects and exchanges hellos.
 * @returns undefined when no agent listens there, or when it was just ending.
 * @throws RunnelError Version when it speaks another control version, Unavailable when it does not answer in time.
 */
export async function connectAgent<T extends CallTable>(
  path: string,
  table: T,
  { version, clock, deadlineMs }: { version: string; clock: Clock; deadlineMs: number },
): Promise<CallClient<T> | undefined> {
  const opened = await CallClient.open(new LineCarrier(connect(path), CONTROL_LIMITS.answerLineBytes), table, {
    hello: { protocol: CONTROL_VERSION, version, pid: process.pid, features: [...CONTROL_FEATURES] },
    clock,
    deadlineMs,
    operation: "ask the agent",
    sentences: SENTENCES,
  });
  if (opened === undefined) return undefined;
  const { client, hello } = opened;
  if (hello.protocol === CONTROL_VERSION) return client;
  client.close();
  throw new RunnelError(
    "Version",
    "reach the agent",
    `The agent that runs is of Runnel ${hello.version}, this command of ${version}, and they do not understand each other. ` +
      `Run "runnel stop" to unmount its drives and end it, then try again.`,
    { detail: { need: hello.protocol } },
  );
}
