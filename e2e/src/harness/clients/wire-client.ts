// A client of the wire that is nothing but a connection: for what a drive would not do.
import { inlineExecutor } from "@runnel/native";
import { Connection, type Link, RealClock } from "@runnel/shared";

export function bareConnection(link: Link): Connection {
  return new Connection({
    link,
    isClient: true,
    clock: new RealClock(),
    executor: inlineExecutor(),
    opened: () => undefined,
    closed: () => undefined,
  });
}
