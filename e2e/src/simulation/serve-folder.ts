// The one server of all simulations: what `runnel serve` composes for a folder, on simulated ground.
import { inlineExecutor } from "@runnel/native";
import { type OpenedVolume, type RunningServer, type VolumeHost, openVolume, serve } from "@runnel/server/internals";
import { probeFolder } from "@runnel/server/internals";

export const PORT = 7473;
export const VOLUME = "docs";
export const FOLDER = "/srv/docs";
export const SERVER_URL = `ws://127.0.0.1:${PORT}/${VOLUME}`;
export const DATA = "/var/runnel";

export interface ServerGround extends Pick<VolumeHost, "clock" | "disk" | "termMs" | "warn" | "openMeta"> {
  acceptor: Parameters<typeof serve>[0]["acceptor"];
  /** PORT, unless it is another. */
  port?: number;
  /** Called with each volume that was opened; returns it as the server is to see it. */
  opened(volume: OpenedVolume): OpenedVolume;
}

export function serveFolder({ acceptor, opened, port = PORT, ...ground }: ServerGround): Promise<RunningServer> {
  const executor = inlineExecutor();
  const settings = { name: VOLUME, folder: FOLDER };
  const host: VolumeHost = { ...ground, executor, dataFolder: DATA };
  return serve({
    acceptor,
    clock: ground.clock,
    executor,
    host: "127.0.0.1",
    port,
    software: "Runnel server",
    isSecure: false,
    security: undefined,
    warn: ground.warn,
    volumes: [
      {
        ...settings,
        probe: () => probeFolder(settings, host),
        open: async (gone) => opened(await openVolume(settings, host, gone)),
      },
    ],
  });
}
