// Says in a sentence why nothing can listen at a place that a person named.
import { RunnelError, fromSystemError } from "../errors.ts";

export function cannotListen(host: string, port: number, cause: Error): RunnelError {
  const code = (cause as { code?: unknown }).code;
  if (code === "EADDRINUSE") {
    const sentence = `Port ${port} on ${host} is in use by another program: choose another port, or stop that program.`;
    return new RunnelError("Busy", "listen", sentence, { cause });
  }
  if (code === "EACCES") {
    return new RunnelError("Denied", "listen", `Port ${port} needs more rights: choose one above 1023.`, { cause });
  }
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND" || code === "EAI_AGAIN") {
    const sentence = `${host} is no address of this machine. Choose one that it has, or 0.0.0.0 for all.`;
    return new RunnelError("Unavailable", "listen", sentence, { cause });
  }
  return fromSystemError(cause, "listen");
}
