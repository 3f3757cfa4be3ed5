// Connection of a client of the NFS drive: records in, records out, with bounds on what is under way.
import type { Socket } from "node:net";
import { CALLS_MAX, UNSENT_BYTES_MAX } from "./wire/bounds.ts";
import { RecordSplitter } from "./wire/record-splitter.ts";

export interface Answer {
  record: Buffer;
  /** The client has shown something that this drive alone gives out: its path, or a file handle. */
  isProof: boolean;
}

export interface Serving {
  /** Never throws; undefined: what came is no call, and the connection ends. */
  answer(record: Buffer): Promise<Answer | undefined>;
  /** Called with each answer that is a proof. */
  proved(): void;
}

/** Serves until the socket closes. */
export function serveConnection(socket: Socket, { answer, proved }: Serving): void {
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
    const given = await answer(record);
    calls -= 1;
    if (socket.destroyed) return;
    if (given === undefined) {
      socket.destroy();
      return;
    }
    if (given.isProof) proved();
    socket.write(given.record);
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
