// The parts by which what programs write comes to the server, composed around one table of saves.
import type { DiskRoot, Executor } from "@runnel/shared";
import { Sender } from "../../transfer/send-content.ts";
import type { Transfer } from "../../transfer/transfer.ts";
import { Bases } from "./bases.ts";
import { Commits, type CommitsParts } from "./commits.ts";
import { ConflictCopies } from "./conflict-copies.ts";
import { Saves } from "./saves.ts";
import { UnsentContents } from "./unsent-contents.ts";
import { DriveUnsentFiles } from "./unsent-files.ts";
import { Unsent, type UnsentParts } from "./unsent.ts";

type Made = "sender" | "saves" | "bases" | "unsent" | "copies" | "contents";

export interface SavingParts extends Omit<UnsentParts, Made>, Omit<CommitsParts, Made> {
  transfer: Transfer;
  contents: CommitsParts["contents"];
  executor: Executor;
  /** The journal's data folder. */
  data: DiskRoot;
  openFolder(path: string): Promise<DiskRoot>;
}

export interface Saving {
  commits: Commits;
  unsent: Unsent;
  unsentContents: UnsentContents;
  unsentFiles: DriveUnsentFiles;
}

export function savingOf(parts: SavingParts): Saving {
  const { journal, transfer } = parts;
  const { downloads } = transfer;
  const saves = new Saves(journal.pending());
  const bases = new Bases(parts);
  const { dataFolder } = journal;
  const sender = new Sender({ ...transfer, ...parts, dataFolder });
  const unsentContents = new UnsentContents({ ...parts, saves, bases, downloads, dataFolder });
  const copies = new ConflictCopies(parts);
  const unsent = new Unsent({ ...parts, sender, saves, bases, copies, contents: unsentContents });
  const unsentFiles = new DriveUnsentFiles({ ...parts, unsent, bases, downloads });
  const commits = new Commits({ ...parts, sender, saves, bases, unsent });
  return { commits, unsent, unsentContents, unsentFiles };
}
