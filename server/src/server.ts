// The server: volumes behind one listener. Which engines they run on is for index.ts (or a simulation).
import type { Acceptor, Clock, Executor, Link } from "@runnel/shared";
import { CLOSE_CODE_OF_KIND, CLOSE_CODE_OTHER, LIMITS, RunnelError } from "@runnel/shared";
import type { Device } from "./auth/access-file.ts";
import type { Security } from "./auth/security.ts";
import { FailedLogins } from "./auth/failed-logins.ts";
import type { RunningServer } from "./index.ts";
import type { Volume } from "./volume/volume.ts";
import { ConnectionHandler } from "./wire/connection-handler.ts";

export interface OpenedVolume {
  volume: Volume;
  folder: string;
  /** Called after the volume is closed. */
  release(): Promise<void>;
}

export interface ServerParts {
  acceptor: Acceptor;
  clock: Clock;
  executor: Executor;
  host: string;
  port: number;
  software: string;
  /** Left out where everyone who gets here may do everything. */
  security: Security | undefined;
  /** Opens the volumes, each put into `opened` as soon as it is open. */
  openVolumes(opened: OpenedVolume[]): Promise<void>;
  warn(message: string, error?: unknown): void;
}

/** Listens first, so that a port in use is known before any folder is touched; who connects meanwhile waits for the volumes. */
export async function serve(parts: ServerParts): Promise<RunningServer> {
  const { acceptor, clock, executor, software, security, warn } = parts;
  const access = security?.access;
  const failedLogins = new FailedLogins(clock);
  const opened: OpenedVolume[] = [];
  const handlers = new Set<ConnectionHandler>();
  let volumes: ReadonlyMap<string, Volume> | undefined;
  let early: Link[] = [];
  const handle = (link: Link, served: ReadonlyMap<string, Volume>): void => {
    const ended = (): void => void handlers.delete(handler);
    const handler: ConnectionHandler = new ConnectionHandler({
      link,
      clock,
      executor,
      volumes: served,
      software,
      access,
      failedLogins,
      warn,
      ended,
    });
    handlers.add(handler);
  };
  const strangers = (): number => {
    let count = early.length;
    for (const handler of handlers) if (!handler.isKnown) count++;
    return count;
  };
  access?.onRevoked((device) => cutOff(device, handlers, opened, warn));
  const listener = await acceptor.listen(parts.host, parts.port, (link) => {
    if (strangers() >= LIMITS.strangers) link.close(CLOSE_BUSY, "Too many connections say nothing. Try again later.");
    else if (volumes === undefined) early.push(link);
    else handle(link, volumes);
  });
  const close = async (): Promise<void> => {
    for (const handler of handlers) handler.close(new RunnelError("Unreachable", "serve", "The server stops."));
    await listener.close();
    for (const { volume, release } of opened) {
      await volume.close();
      await release();
    }
  };
  try {
    await parts.openVolumes(opened);
  } catch (error) {
    await close().catch((second: unknown) => warn("The server did not end cleanly.", second));
    throw error;
  }
  volumes = new Map(opened.map(({ volume }) => [volume.name, volume]));
  for (const link of early) handle(link, volumes);
  early = [];
  const host = parts.host.includes(":") ? `[${parts.host}]` : parts.host;
  return {
    url: `${security === undefined ? "ws" : "wss"}://${host}:${listener.port}`,
    volumes: opened.map(({ volume, folder }) => ({ name: volume.name, folder, epoch: volume.epoch })),
    status: () => ({
      volumes: opened.map(({ volume }) => ({
        name: volume.name,
        seq: volume.seq,
        content: volume.content.status(),
        attachments: volume.feed.attachments,
      })),
    }),
    guests: security?.guests,
    connected: (device) => [...handlers].some(({ deviceId }) => deviceId === device),
    close,
  };
}

/** Its connections first: from then on it can ask nothing. Nobody waits for what it may still hold. */
function cutOff(
  device: Device,
  handlers: ReadonlySet<ConnectionHandler>,
  opened: readonly OpenedVolume[],
  warn: ServerParts["warn"],
): void {
  for (const handler of handlers) if (handler.deviceId === device.id) handler.revoke();
  for (const { volume } of opened) {
    for (const instance of volume.feed.drop(device.id)) {
      volume.meta
        .setAttached(instance, false)
        .catch((error: unknown) => warn("The next start may wait for a device that was cut off.", error));
    }
  }
}

const CLOSE_BUSY = CLOSE_CODE_OF_KIND.Busy ?? CLOSE_CODE_OTHER;
