// Dials a server and greets it.
import type { Clock, Dialer, Executor } from "@runnel/shared";
import { Connection, PROTOCOL_VERSION, RESULTS, RunnelError, check, silent } from "@runnel/shared";

export interface ConnectionParts {
  url: string;
  clock: Clock;
  dialer: Dialer;
  executor: Executor;
  /** "Runnel 0.1.0 on ada-laptop": what others read when they wait for this client. */
  software: string;
  /** What makes this device known to the server. */
  token?(): string | undefined;
}

/** @throws RunnelError Unreachable within `dialMs`; Version when the server speaks another protocol. */
export async function openConnection(
  parts: ConnectionParts,
  dialMs: number,
  ending: AbortSignal,
  closed: (error: RunnelError) => void,
): Promise<Connection> {
  const abort = new AbortController();
  let isOverdue = false;
  const end = (): void => abort.abort();
  const timer = parts.clock.after(dialMs, () => {
    isOverdue = true;
    end();
  });
  ending.addEventListener("abort", end);
  if (ending.aborted) end();
  try {
    const link = await parts.dialer.dial(parts.url, abort.signal);
    const connection = new Connection({
      link,
      isClient: true,
      clock: parts.clock,
      executor: parts.executor,
      opened: (_channel, operation) => {
        throw new RunnelError("Unsupported", operation, "A client opens all channels.");
      },
      closed,
    });
    const token = parts.token?.();
    const answer = connection.call("hello", {
      protocol: PROTOCOL_VERSION,
      software: parts.software,
      ...(token === undefined ? {} : { token }),
    });
    abort.signal.addEventListener("abort", () =>
      connection.close(new RunnelError("Unreachable", "connect", "The server does not answer.")),
    );
    check(RESULTS.hello, await answer, "hello");
    return connection;
  } catch (error) {
    if (!isOverdue) throw error;
    throw silent(new URL(parts.url).host, error);
  } finally {
    timer.cancel();
    ending.removeEventListener("abort", end);
  }
}
