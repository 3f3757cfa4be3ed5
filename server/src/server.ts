// The server: volumes behind one listener. Which engines they run on is for index.ts (or a simulation).
import type { Acceptor, Clock, Executor, Listener } from "@runnel/shared";
import { RunnelError } from "@runnel/shared";
import type { RunningServer } from "./index.ts";
import type { Volume } from "./volume/volume.ts";
import { ConnectionHandler } from "./wire/connection-handler.ts";

export interface ServerParts {
  acceptor: Acceptor;
  clock: Clock;
  executor: Executor;
  host: string;
  port: number;
  software: string;
  volumes: { volume: Volume; folder: string }[];
  warn(message: string, error?: unknown): void;
}

export async function serve(parts: ServerParts): Promise<RunningServer> {
  const byName = new Map(parts.volumes.map(({ volume }) => [volume.name, volume]));
  const handlers = new Set<ConnectionHandler>();
  const listener: Listener = await parts.acceptor.listen(parts.host, parts.port, (link) => {
    const handler: ConnectionHandler = new ConnectionHandler({
      link,
      clock: parts.clock,
      executor: parts.executor,
      volumes: byName,
      software: parts.software,
      warn: parts.warn,
      ended: () => handlers.delete(handler),
    });
    handlers.add(handler);
  });
  const host = parts.host.includes(":") ? `[${parts.host}]` : parts.host;
  return {
    url: `ws://${host}:${listener.port}`,
    volumes: parts.volumes.map(({ volume, folder }) => ({ name: volume.name, folder, epoch: volume.epoch })),
    status: () => ({
      volumes: parts.volumes.map(({ volume }) => ({
        name: volume.name,
        seq: volume.seq,
        content: volume.content.status(),
        attachments: volume.feed.attachments,
      })),
    }),
    close: async () => {
      for (const handler of handlers) handler.close(new RunnelError("Unreachable", "serve", "The server stops."));
      await listener.close();
      for (const { volume } of parts.volumes) await volume.close();
    },
  };
}
