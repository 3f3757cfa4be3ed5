// The next hop of a mail, as a transaction speaks with it; over a socket in host/, and in memory in tests.
import type { Extensions, Reply } from "./smtp-words.ts";

export interface NextHop {
  readonly extensions: Extensions;
  /** It may be given another command. */
  readonly isOpen: boolean;
  /** Sends a line and resolves with the answer. @throws RunnelError Unreachable, when none comes; Invalid */
  command(line: string): Promise<Reply>;
  /** Sends the bytes after DATA was answered with 354. @returns the answer to the mail, or to DATA. @throws likewise */
  data(content: AsyncIterable<Uint8Array>): Promise<Reply>;
  close(): void;
}
