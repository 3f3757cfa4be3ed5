// A page of a server's console without a browser: what it asks, over the console's own door on loopback.
import { CONSOLE_VERBS } from "@runnel/server/internals";
import { CallClient, RealClock, WsCarrier } from "@runnel/shared";
import { dial, enterByLink, type WebSocket } from "@runnel/shared/test/calls/bent-browser.ts";
import type { Device } from "../product.ts";

export type ConsolePage = CallClient<typeof CONSOLE_VERBS>;

/** Opens a page for whoever runs the server that has its state in `dataFolder`. */
export async function openConsolePage(device: Device, dataFolder: string): Promise<ConsolePage> {
  const { page } = (await device.ask(["console", "--print", "--data", dataFolder])) as { page: { link: string } };
  const { port, hash } = new URL(page.link);
  const { session } = JSON.parse((await enterByLink(Number(port), hash.slice(1))).text) as { session: string };
  const { socket } = await dial(Number(port));
  return enterConsole(socket, session);
}

/** Enters a page session over a connection to the console. @throws when it is not let in */
export async function enterConsole(socket: WebSocket, session: string): Promise<ConsolePage> {
  socket.send(JSON.stringify({ session }));
  const opened = await CallClient.open(new WsCarrier(socket), CONSOLE_VERBS, {
    hello: { protocol: 1, version: "page", features: [] },
    clock: new RealClock(),
    deadlineMs: 10_000,
    operation: "ask",
    sentences: { silent: "Silent.", ended: "Ended.", notUnderstood: "Not understood." },
  });
  if (opened === undefined) throw new Error("The console did not let the page in.");
  return opened.client;
}
