// The server: volumes behind one listener. Which engines they run on is for index.ts (or a simulation).
import type { Acceptor, Clock, Executor, Link } from "@runnel/shared";
import { Crowd, FailedTries, FailedTriesByAddress, LIMITS, RunnelError, TIMING } from "@runnel/shared";
import type { Device } from "./auth/registry-file.ts";
import type { Security } from "./auth/security.ts";
import { ThrottledWarnings } from "./host/throttled-warnings.ts";
import type { RunningServer } from "./server-api.ts";
import type { Offer } from "./served-volume.ts";
import { ServedVolumes } from "./served-volumes.ts";
import type { Carried } from "./live/traffic.ts";
import { openersOf } from "./volume/openers.ts";
import type { Volume } from "./volume/volume.ts";
import { ConnectionHandler } from "./wire/connection-handler.ts";
import { DeviceShare } from "./wire/device-share.ts";
import { cutOff, dropUploadsOfOthers, rightChanged } from "./wire/cut-off.ts";

export interface ServerDeps {
  acceptor: Acceptor;
  clock: Clock;
  executor: Executor;
  host: string;
  port: number;
  software: string;
  /** Everyone comes with TLS. */
  isSecure: boolean;
  /** Left out where there are no devices. */
  security: Security | undefined;
  volumes: readonly Offer[];
  /** Uploads need not bring what lies in folders beside the volumes. */
  hasSupply?: boolean;
  /** Before any folder is opened. */
  listening?(): Promise<void>;
  warn(message: string, error?: unknown): void;
}

/** A running server, with what a console of it works on. */
export interface ServedServer extends RunningServer {
  served: ServedVolumes;
  /** Connections that are open. */
  connections: ReadonlySet<ConnectionHandler>;
  /** Bytes of all connections since the start. */
  carried(): Carried;
}

/**
 * Listens first, so that a port in use is known before any folder is touched; who attaches meanwhile is told that the
 * volume is being opened.
 */
export async function serve(deps: ServerDeps): Promise<ServedServer> {
  const { acceptor, clock, executor, software, security, warn } = deps;
  const devices = security?.devices;
  const failedLogins = new FailedTriesByAddress(clock, { atOnce: LIMITS.failedLogins, refillMs: TIMING.loginRefillMs });
  const handlers = new Set<ConnectionHandler>();
  /** Handlers by device, with those that ended and have something under way still: it takes memory. */
  const present = new Map<string, Set<ConnectionHandler>>();
  const ended = (volume: Volume, error: RunnelError): void => {
    for (const handler of handlers) handler.volumeEnded(volume, error);
  };
  const opened = (volume: Volume): void => {
    if (devices !== undefined) dropUploadsOfOthers(volume, devices, warn);
  };
  const served = new ServedVolumes(deps.volumes, { clock, opened, ended, warn });
  const carriedBefore: Carried = { sentBytes: 0, receivedBytes: 0 };
  const carry = (carried: Carried, { sentBytes, receivedBytes }: Carried): Carried => {
    carried.sentBytes += sentBytes;
    carried.receivedBytes += receivedBytes;
    return carried;
  };
  const cutOffs = new FailedTries(clock, { atOnce: LIMITS.cutOffs, refillMs: TIMING.cutOffRefillMs });
  const attaches = new FailedTries(clock, { atOnce: LIMITS.deviceAttaches, refillMs: TIMING.attachRefillMs });
  const unauthenticated = new Crowd(LIMITS.unauthenticated);
  const throttled = new ThrottledWarnings(clock, warn);
  const shares = new WeakMap<Device, DeviceShare>();
  const shareOf = (device: Device): DeviceShare => {
    const share = shares.get(device) ?? new DeviceShare();
    shares.set(device, share);
    return share;
  };
  /** Returns the handlers of its device; without a device each is alone. Called for each message that is held. */
  const ofDevice = (handler: ConnectionHandler): ReadonlySet<ConnectionHandler> =>
    present.get(handler.deviceId ?? "") ?? new Set([handler]);
  const enter = (handler: ConnectionHandler): void => {
    const { deviceId } = handler;
    if (deviceId === undefined) return;
    present.set(deviceId, (present.get(deviceId) ?? new Set()).add(handler));
    devices?.seen(deviceId);
  };
  const forget = (handler: ConnectionHandler): void => {
    const { deviceId = "" } = handler;
    const all = present.get(deviceId);
    all?.delete(handler);
    if (all?.size === 0) present.delete(deviceId);
    devices?.seen(deviceId);
  };
  /** The oldest connections of a device go: what it has lost sight of is among them. */
  const closeOldest = (handler: ConnectionHandler): void => {
    const busy = new RunnelError("Busy", "hello", "This device has connected too often.");
    const open = [...ofDevice(handler)].filter((each) => handlers.has(each));
    for (const oldest of open.slice(0, -LIMITS.deviceConnections)) oldest.close(busy);
  };
  const handle = (link: Link): void => {
    // Made when it is wanted: an error keeps what was on the stack for as long as the connection lasts.
    const busy = (): RunnelError =>
      new RunnelError("Busy", "hello", "Too many connections say nothing. Try again later.");
    const leave = unauthenticated.enter(link.remoteAddress, () => handler.close(busy()));
    const handler: ConnectionHandler = new ConnectionHandler({
      link,
      clock,
      executor,
      volume: (name) => served.get(name)?.mustBeOpen(),
      software,
      ...(deps.hasSupply === true ? { hasSupply: true } : {}),
      devices,
      failedLogins,
      cutOffs,
      attaches,
      audit: security?.audit,
      warn,
      ofDevice: () => ofDevice(handler),
      shareOf,
      cutOff: (message) => throttled.say(message),
      authenticated: () => {
        leave();
        enter(handler);
        closeOldest(handler);
      },
      ended: () => {
        leave();
        if (handlers.delete(handler)) carry(carriedBefore, handler.carried);
      },
      gone: () => forget(handler),
    });
    handlers.add(handler);
  };
  devices?.onRightChanged((device, name) => rightChanged(device, name, { handlers, volumes: served.open, warn }));
  devices?.onRevoked((device) => cutOff(device, { handlers, volumes: served.open, warn }));
  const listener = await acceptor.listen(deps.host, deps.port, handle);
  const close = async (): Promise<void> => {
    for (const handler of handlers) handler.close(new RunnelError("Unreachable", "serve", "The server stops."));
    await listener.close();
    await served.close();
  };
  try {
    await deps.listening?.();
    await served.start();
  } catch (error) {
    await close().catch((second: unknown) => warn("The server did not end cleanly.", second));
    throw error;
  }
  const host = deps.host.includes(":") ? `[${deps.host}]` : deps.host;
  return {
    url: `${deps.isSecure ? "wss" : "ws"}://${host}:${listener.port}`,
    volumes: served.list,
    served,
    connections: handlers,
    carried: () => [...handlers].reduce((all, { carried }) => carry(all, carried), { ...carriedBefore }),
    security,
    console: undefined,
    openers: async (name, path) => {
      const volume = served.get(name)?.mustBeOpen();
      if (volume === undefined) throw new RunnelError("NotFound", "openers", `The server has no volume ${name}.`);
      return openersOf(volume, clock, path);
    },
    connected: (device) => [...handlers].some(({ deviceId }) => deviceId === device),
    close,
  };
}
