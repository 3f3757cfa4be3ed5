// Carries whole texts both ways between the two ends of a connection: lines on a socket, frames, messages of a port.

export interface Carrier {
  /**
   * Sends one text; after the end it is lost.
   * @returns undefined while there is room for more, otherwise a promise that resolves once there is, or once the
   * carrier has ended.
   */
  send(text: string): Promise<void> | undefined;
  /** Takes over the texts that come, in order. Called once, before anything can have come. */
  onText(take: (text: string) => void): void;
  /**
   * Calls back once, when the connection has ended; with an error when what came was no text, or a longer one than is
   * allowed.
   */
  onClose(closed: (error?: unknown) => void): void;
  /** Takes nothing more, and ends once what was sent is out. */
  close(): void;
}
