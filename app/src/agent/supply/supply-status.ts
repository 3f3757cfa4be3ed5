// Tells a person of a supply; free of engines, for the command line.
import { z } from "zod";

export const SupplyStatus = z.object({
  path: z.string(),
  /** scanning: its files are being looked through; away: it cannot be read now, as a stick that was pulled out. */
  state: z.enum(["scanning", "ready", "away"]),
  /** Files that chunks can be taken of, and their bytes. */
  files: z.number(),
  bytes: z.number(),
  /** Files that the scan which is under way, or the last, has come to. */
  seenFiles: z.number(),
  /** Files and folders that could not be read, or were too many. */
  passedOver: z.number(),
  /** A sentence, or null. */
  problem: z.string().nullable(),
});
export type SupplyStatus = z.infer<typeof SupplyStatus>;

/** The supplies of an agent, as its verbs ask for them. */
export interface SuppliesOfAgent {
  list(): SupplyStatus[];
  /** Uses a folder, or looks through it now where it is used already. @throws NotFound, NotFolder, Denied; TooLarge. */
  add(path: string): Promise<SupplyStatus>;
  /** Uses a folder no more; the folder itself is left as it is. @throws NotFound. */
  remove(path: string): Promise<void>;
}
