// Answers that are made whole before they are sent. A client that asks for them and does not read them shall cost no
// memory: few are made at a time, of a connection and of all connections of a device, and none while much of what was
// asked for before lies unread on the connection.

import { Semaphore } from "../host/semaphore.ts";

/** Made at a time, of a connection and of a device: each is at most a control message long. */
export const ANSWERS_AT_ONCE = 4;

export interface Reading {
  /** Tells whether nobody hears the answers any more. */
  isClosed(): boolean;
  /** Little lies unread. */
  isRead(): boolean;
  /** Resolves when it does. */
  whenRead(): Promise<void>;
}

export class AnswerTurns {
  private readonly reading: Reading;
  private readonly own = new Semaphore(ANSWERS_AT_ONCE);
  private readonly device: () => Semaphore;

  constructor(reading: Reading, device: () => Semaphore) {
    this.reading = reading;
    this.device = device;
  }

  /** Gives answers in the order of asking. */
  async take(answer: () => Promise<void>): Promise<void> {
    await this.own.run(async () => {
      for (let isDone = false; !isDone && !this.reading.isClosed();) {
        await this.reading.whenRead();
        isDone = await this.device().run(() => this.inPlace(answer));
      }
    });
  }

  /** Returns false when others of this connection have been answered meanwhile, and it is to wait again. */
  private async inPlace(answer: () => Promise<void>): Promise<boolean> {
    if (!this.reading.isRead()) return false;
    if (!this.reading.isClosed()) await answer();
    return true;
  }
}
