// Bounds of what electron-updater asks for: it takes an answer of any length, for any time, and tells servers a number
// of this device. Here an answer is cut where nothing that was signed is as long, and given up when nothing comes.
import type { Clock } from "@runnel/shared";

/** Nothing came for so long. */
export const SILENT_MS = 60_000;

/** Number of this device, by which a server could hand newer versions to some only. */
const NUMBER_OF_DEVICE = "x-user-staging-id";

interface Emitter {
  on(event: string, listener: (value: Uint8Array) => void): unknown;
  emit(event: string, value: unknown): unknown;
}
interface Request extends Emitter {
  abort(): void;
}
interface Executor {
  createRequest(options: { headers?: Record<string, unknown> }, answered: (response: Emitter) => void): Request;
}

/** electron-updater's way to the network, which is Electron's; a test has Node's in its place. Not in its types. */
export interface HasExecutor {
  httpExecutor: Executor;
}

export class BoundedRequests {
  /** Bytes of an answer, at most. */
  bytesMax = 0;

  /** Takes each request of this executor from now on. */
  constructor(executor: Executor, clock: Clock) {
    const create = executor.createRequest.bind(executor);
    executor.createRequest = ({ headers = {}, ...options }, answered) => {
      const { [NUMBER_OF_DEVICE]: _number, ...others } = headers;
      let from: Emitter | undefined;
      const giveUp = (why: string): void => {
        silence.cancel();
        request.abort();
        (from ?? request).emit("error", new Error(why));
      };
      const awaitMore = () => clock.after(SILENT_MS, () => giveUp("Nothing came for a minute."));
      let silence = awaitMore();
      let bytes = 0;
      const request = create({ ...options, headers: others }, (response) => {
        from = response;
        response.on("data", (piece) => {
          silence.cancel();
          silence = awaitMore();
          bytes += piece.length;
          if (bytes > this.bytesMax) giveUp("The answer is longer than what was signed.");
        });
        response.on("end", () => silence.cancel());
        answered(response);
      });
      request.on("close", () => silence.cancel());
      return request;
    };
  }
}
