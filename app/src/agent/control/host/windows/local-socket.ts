// The control socket as a pipe of Windows. Pipes of all users lie in one place, so its name is told to nobody but the
// readers of agent.json: nobody can listen there first.
import { randomUUID } from "node:crypto";

export function placeSocket(): string {
  return `\\\\.\\pipe\\runnel-${randomUUID()}`;
}
