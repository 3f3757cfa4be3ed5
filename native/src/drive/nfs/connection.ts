// Connection of a client of the NFS drive: records in, records out, with bounds on what is under way.
import type { Socket } from "node:net";
import { CALLS_MAX, UNSENT_BYTES_MAX } from "./wire/bounds.ts";
import { RecordSplitter } from "./wire/record-splitter.ts";

/** Serves until the socket closes. `answer` never throws; undefined: what came is no call, and the connection ends. */
export function serveConnection(socket: Socket, answer: (record: Buffer) => Promise<Buffer | undefined>): void {
  const splitter = new RecordSplitter();
  /** Records that came together with others, and wait for those. */
  const waiting: Buffer[] = [];
  let calls = 0;

  const hasRoom = (): boolean => calls < CALLS_MAX && socket.writableLength < UNSENT_BYTES_MAX;

  const goOn = (): void => {
    while (hasRoom()) {
      const record = waiting.shift();
      if (record === undefined) break;
      void take(record);
    }
    if (waiting.length === 0 && hasRoom()) socket.resume();
    else socket.pause();
  };

  const take = async (record: Buffer): Promise<void> => {
    calls += 1;
    const reply = await answer(record);
    calls -= 1;
    if (socket.destroyed) return;
    if (reply === undefined) {
      socket.destroy();
      return;
    }
    socket.write(reply);
    goOn();
  };

  socket.setNoDelay(true);
  socket.on("error", () => undefined);
  socket.on("drain", goOn);
  socket.on("data", (chunk: Buffer) => {
    try {
      waiting.push(...splitter.push(chunk));
    } catch {
      socket.destroy();
      return;
    }
    goOn();
  });
}
