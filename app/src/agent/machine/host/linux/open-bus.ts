// Opens a message bus (D-Bus Specification) so that nothing that the bus does ends this process: dbus-next leaves a
// refusal of its first call, and bytes that are no message, to nobody. Calls and their deadlines are the caller's.
import dbus, { type Message, type MessageBus } from "dbus-next";

/** Parts of dbus-next's connection that it does not declare. */
interface Insides {
  _connection: { stream: { emit: (...event: unknown[]) => boolean; destroy(): void } };
  _methodReturnHandlers: Record<number, (reply: Message) => void>;
}

/** Serial of the call that dbus-next makes by itself, for a name on the bus (`Hello`). */
const HELLO = 1;

/**
 * Opens the bus at an address; left out: the system's. Whatever goes wrong later is the event `error`, also when the
 * bus ends the line. @throws Error for an address that is none
 */
export function openBus(address?: string): MessageBus {
  // dbus-next's way in for buses without sockets takes a short refusal for a line with a cookie.
  const bus = dbus.sessionBus({ authMethods: ["EXTERNAL"], busAddress: address ?? systemAddress() });
  // Without a listener an event `error` is thrown.
  bus.on("error", () => undefined);
  const { _connection: connection, _methodReturnHandlers: handlers } = bus as unknown as Insides;
  const fail = (cause: unknown): void => {
    connection.stream.destroy();
    bus.emit("error", cause instanceof Error ? cause : new Error("the bus has ended the line"));
  };
  const named = handlers[HELLO];
  handlers[HELLO] = (reply) => {
    const isName = reply.type === dbus.MessageType.METHOD_RETURN && typeof reply.body?.[0] === "string";
    if (isName) named?.(reply);
    else fail(new Error("the bus gives no name"));
  };
  const { stream } = connection;
  const emit = stream.emit.bind(stream);
  stream.emit = (...event) => {
    try {
      const isHeard = emit(...event);
      if (event[0] === "end") fail(undefined);
      return isHeard;
    } catch (error) {
      fail(error);
      return true;
    }
  };
  return bus;
}

/** Address of the system's bus, as dbus-next takes it. */
function systemAddress(environment = process.env): string {
  const said = environment["DBUS_SYSTEM_BUS_ADDRESS"];
  return said === undefined || said === "" ? "unix:path=/var/run/dbus/system_bus_socket" : said;
}
