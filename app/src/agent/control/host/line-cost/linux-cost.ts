// NetworkManager's word on the line, over the system's D-Bus (networkmanager.dev, NMMetered). A system without either
// says nothing; a NetworkManager that comes, goes or starts anew is followed.
import type { Clock } from "@runnel/shared/base";
import type { WatchCost } from "./line-cost.ts";

const NAME = "org.freedesktop.NetworkManager";
const PATH = "/org/freedesktop/NetworkManager";
const PROPERTIES = "org.freedesktop.DBus.Properties";
const BUS = "org.freedesktop.DBus";
const BUS_PATH = "/org/freedesktop/DBus";
/** NM_METERED_YES and NM_METERED_GUESS_YES. */
const METERED = new Set<unknown>([1, 3]);
const RULES = [
  `type='signal',sender='${NAME}',interface='${PROPERTIES}',member='PropertiesChanged',path='${PATH}'`,
  `type='signal',sender='${BUS}',interface='${BUS}',member='NameOwnerChanged',arg0='${NAME}'`,
];
/** It is asked on this computer: whoever has not answered by then does not. */
const ANSWER_MS = 2_000;
/** A bus that has gone is tried again. */
const AGAIN_MS = 60_000;

/** `address`: of the bus; left out: the system's. */
export function networkManagerCost(clock: Clock, address?: string): WatchCost {
  return async (said) => {
    let isOver = false;
    let stop = (): void => undefined;
    const begin = async (): Promise<void> => {
      const lost = (): void => {
        if (isOver) return;
        said(false);
        const timer = clock.after(AGAIN_MS, () => void begin());
        stop = () => timer.cancel();
      };
      try {
        const end = await watchBus(clock, address, said, lost);
        if (isOver) end();
        else stop = end;
      } catch {
        lost();
      }
    };
    await begin();
    return () => {
      isOver = true;
      stop();
    };
  };
}

/** Resolves once NetworkManager has said its word, or did not in time. @throws when there is no bus */
async function watchBus(
  clock: Clock,
  address: string | undefined,
  said: (isMetered: boolean) => void,
  lost: () => void,
): Promise<() => void> {
  const { default: dbus } = await import("dbus-next");
  const { openBus } = await import("../../../machine/host/linux/open-bus.ts");
  const bus = openBus(address);
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => undefined);
  bus.on("error", (error: unknown) => broken.reject(error));
  const call = (face: string, path: string, member: string, ...body: string[]): Promise<unknown[]> => {
    const destination = face === BUS ? BUS : NAME;
    const signature = "s".repeat(body.length);
    const flags = dbus.MessageFlag.NO_AUTO_START;
    const message = new dbus.Message({ destination, path, interface: face, member, signature, body, flags });
    return bus.call(message).then((answer) => answer?.body ?? []);
  };
  let isOver = false;
  /** A NetworkManager that is not there, or has no such property, says nothing. @throws when the bus is gone */
  const ask = async (): Promise<void> => {
    const word = call(PROPERTIES, PATH, "Get", NAME, "Metered").then(
      ([variant]) => METERED.has((variant as { value?: unknown } | undefined)?.value),
      () => false,
    );
    const late = Promise.withResolvers<false>();
    const timer = clock.after(ANSWER_MS, () => late.resolve(false));
    try {
      const isMetered = await Promise.race([word, broken.promise, late.promise]);
      if (!isOver) said(isMetered);
    } finally {
      timer.cancel();
    }
  };
  let again = clock.after(0, () => undefined);
  const end = (): void => {
    isOver = true;
    again.cancel();
    bus.disconnect();
  };
  const goOn = async (): Promise<void> => {
    again.cancel();
    try {
      await ask();
      // A bus that has gone says nothing of it until it is asked.
      if (!isOver) again = clock.after(AGAIN_MS, () => void goOn());
    } catch {
      if (isOver) return;
      end();
      lost();
    }
  };
  bus.on("message", ({ type, member, interface: face, path, body }) => {
    if (type !== dbus.MessageType.SIGNAL || isOver) return;
    const isProperty = face === PROPERTIES && member === "PropertiesChanged" && path === PATH;
    const isOwner = face === BUS && member === "NameOwnerChanged" && body[0] === NAME;
    // Others may send signals too: the service itself is asked.
    if (isProperty || isOwner) void goOn();
  });
  for (const rule of RULES) call(BUS, BUS_PATH, "AddMatch", rule).catch(() => undefined);
  try {
    await ask();
  } catch (error) {
    end();
    throw error;
  }
  again = clock.after(AGAIN_MS, () => void goOn());
  return end;
}
