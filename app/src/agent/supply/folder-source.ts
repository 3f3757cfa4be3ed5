// A folder of this computer, or a stick, as a source of chunks.
import { SupplyFolder, type SupplyFolderDeps } from "@runnel/shared/supply";
import type { ChunkSource } from "../transfer/sources/chunk-source.ts";

export interface FolderSourceDeps extends SupplyFolderDeps {
  kind: "folder" | "stick";
}

export class FolderSource extends SupplyFolder implements ChunkSource {
  readonly kind: "folder" | "stick";
  readonly name: string;
  readonly mayRot = true;

  constructor(deps: FolderSourceDeps) {
    super(deps);
    this.kind = deps.kind;
    this.name = deps.path;
  }
}
