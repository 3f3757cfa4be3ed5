// A server whose volume lies in memory, over the real protocol, for systems on which no server of ours runs: it lets
// this user's programs in at a port of loopback until its input ends. It prints the volume's URL.
//     node e2e/src/installers/memory-server.ts
import { MemoryMetaImage, openMemoryMetaStore } from "@runnel/server/internals";
import { LocalSecrets, RealClock, SimulatedDisk, WsAcceptor } from "@runnel/shared";
import { FOLDER, VOLUME, serveFolder } from "../simulation/serve-folder.ts";

const TERM_MS = 20_000;
const ANY_PORT = 0;

const clock = new RealClock();
const disk = new SimulatedDisk({ clock, seed: 1 });
await (await disk.openRoot(FOLDER, { permissions: 0o755 })).close();
const image = new MemoryMetaImage();
const { url } = await serveFolder({
  acceptor: new WsAcceptor({
    identity: () => undefined,
    pages: () => undefined,
    secrets: LocalSecrets.ofUser(),
  }),
  clock,
  disk,
  termMs: TERM_MS,
  warn: (message, error) => console.error(message, error ?? ""),
  openMeta: async (_folder, create) => openMemoryMetaStore(image, create === undefined ? {} : { create }),
  opened: (opened) => opened,
  port: ANY_PORT,
});
console.log(`${url}/${VOLUME}`);
process.stdin.on("end", () => process.exit(0)).resume();
