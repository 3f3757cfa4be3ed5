// Composes, around one table of saves, the services by which what programs write comes to the server.
import type { DiskRoot, Executor } from "@runnel/shared";
import type { Passages } from "../../pauses/passages.ts";
import { Sender } from "../../transfer/send-content.ts";
import type { Transfer } from "../../transfer/transfer.ts";
import type { Transfers } from "../../view/transfers.ts";
import { Bases } from "./bases.ts";
import { Commits, type CommitsDeps } from "./commits.ts";
import { ConflictCopies } from "./conflict-copies.ts";
import { LayerJoins } from "./join-layers.ts";
import { Lineages } from "./lineages.ts";
import { Saves } from "./saves.ts";
import { UnsentContents } from "./unsent-contents.ts";
import { DriveUnsentFiles } from "./unsent-files.ts";
import { UnsentSaves, type UnsentDeps } from "./unsent.ts";

type Made = "sender" | "saves" | "lineages" | "bases" | "unsent" | "copies" | "contents" | "takeSent" | "joins";

export interface SavingDeps extends Omit<UnsentDeps, Made>, Omit<CommitsDeps, Made> {
  pauses: Passages;
  transfer: Transfer;
  transfers: Transfers;
  contents: CommitsDeps["contents"];
  executor: Executor;
  /** The journal's data folder. */
  data: DiskRoot;
  openFolder(path: string): Promise<DiskRoot>;
}

export interface SavingServices {
  saves: Saves;
  commits: Commits;
  unsent: UnsentSaves;
  unsentContents: UnsentContents;
  unsentFiles: DriveUnsentFiles;
  bases: Bases;
}

export function wireSaving(deps: SavingDeps): SavingServices {
  const { journal, transfer } = deps;
  const { downloads } = transfer;
  const isNamed = (node: number): boolean => deps.tree.isNamed(node);
  const saves = new Saves(deps.changes, journal.pending(), { isQueued: deps.isQueued, isNamed });
  const bases = new Bases(deps);
  const { dataFolder } = journal;
  const sender = new Sender({ ...transfer, ...deps, dataFolder });
  const unsentContents = new UnsentContents({ ...deps, saves, bases, downloads, dataFolder });
  const saysConflicts = (): boolean => deps.session.features.includes("conflicts");
  const copies = new ConflictCopies({ ...deps, saysConflicts });
  const contents = unsentContents;
  const takeSent: UnsentDeps["takeSent"] = (save, sent) => commits.takeSentLater(save, sent);
  const unsent = new UnsentSaves({ ...deps, sender, saves, bases, copies, contents, takeSent });
  const unsentFiles = new DriveUnsentFiles({ ...deps, unsent, bases, downloads });
  const joins = new LayerJoins({ ...deps, filesInUse: (but) => unsentContents.filesInUse(but) });
  const lineages = new Lineages({ ...deps, saves });
  const commits = new Commits({ ...deps, sender, saves, lineages, bases, unsent, joins });
  return { saves, commits, unsent, unsentContents, unsentFiles, bases };
}
