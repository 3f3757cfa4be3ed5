// Pages over TLS, on a listener that others have too: judges requests and upgrades, and bounds what anybody takes. What
// answers HTTP is loaded with the first page.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Hono } from "hono";
import type { WsCarrier } from "../calls/ws-carrier.ts";
import type { Clock } from "../host/clock.ts";
import { callUpgrades } from "../host/call-upgrades.ts";
import { Crowd } from "../admission/crowd.ts";
import type { Download } from "./downloads.ts";
import { pathFault, refuse, refuseUpgrade } from "./host/refuse.ts";
import { PAGE_LIMITS } from "./page-limits.ts";
import { type PagePlace, requestFault } from "./request-guard.ts";

export interface SecurePagesSettings {
  clock: Clock;
  place: PagePlace;
  /** The folder of the built pages. */
  builtFolder: string;
  /** Requests that are not answered yet; with one more, one of the network that has most is dropped by chance. */
  requestsMax: number;
  /** A request that is not answered by then, or whose answer is not taken, is dropped. */
  answerMs: number;
  /** Adds the ways in. */
  addRoutes(app: Hono): void;
  /** Download that a ticket lets fetch, for who asks from an address. @throws RunnelError Denied, Busy */
  download(ticket: string, address: string): Download;
  /** A WebSocket for calls was opened, by whomever. `owned` is to be called once a page session owns it. */
  opened(carrier: WsCarrier, request: IncomingMessage, owned: () => void): void;
  problem(error: unknown): void;
}

type Answer = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export class SecurePages {
  readonly #settings: SecurePagesSettings;
  readonly #crowd: Crowd;
  readonly #takeUpgrade = callUpgrades(PAGE_LIMITS.bodyBytes);
  #answer: Promise<Answer> | undefined;

  constructor(settings: SecurePagesSettings) {
    this.#settings = settings;
    this.#crowd = new Crowd(settings.requestsMax);
  }

  request(request: IncomingMessage, response: ServerResponse): void {
    const { clock, place, answerMs, problem } = this.#settings;
    const fault = requestFault(request, place, false);
    if (fault !== undefined) {
      refuse(response, fault, place);
      return;
    }
    const { socket } = request;
    const drop = (): void => void socket.destroy();
    const leave = this.#crowd.enter(socket.remoteAddress ?? "", drop);
    const timer = clock.after(answerMs, drop);
    response.once("close", () => {
      timer.cancel();
      leave();
    });
    this.#answer ??= this.#load();
    this.#answer
      .then((answer) => answer(request, response))
      .catch((error: unknown) => {
        problem(error);
        drop();
      });
  }

  /** `owned` is called once a page session owns the connection. */
  upgrade(request: IncomingMessage, stream: Duplex, head: Buffer, owned: () => void): void {
    const { place, opened } = this.#settings;
    const fault = requestFault(request, place, true) ?? pathFault(request);
    if (fault === undefined) this.#takeUpgrade(request, stream, head, (carrier) => opened(carrier, request, owned));
    else refuseUpgrade(stream, fault);
  }

  async #load(): Promise<Answer> {
    const [{ pageApp }, { BuiltFolder }, { getRequestListener }] = await Promise.all([
      import("./page-app.ts"),
      import("./host/built-folder.ts"),
      import("@hono/node-server"),
    ]);
    const { builtFolder, addRoutes, download, problem } = this.#settings;
    const folder = new BuiltFolder(builtFolder);
    const app = pageApp({ isSecure: true, readFile: (path) => folder.read(path), addRoutes, download, problem });
    return getRequestListener((request, env) => app.fetch(request, env), { overrideGlobalObjects: false });
  }
}
