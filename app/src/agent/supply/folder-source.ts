// A folder of this computer, or a stick, as a source of chunks.
import { SupplyFolder, type SupplyFolderDeps } from "@runnel/shared/supply";
import type { ChunkSource } from "../transfer/sources/chunk-source.ts";

export class FolderSource extends SupplyFolder implements ChunkSource {
  readonly name: string;
  readonly mayRot = true;

  constructor(deps: SupplyFolderDeps) {
    super(deps);
    this.name = deps.path;
  }

  /** Looked up once it is opened: another disk may be mounted there by then. */
  get kind(): "folder" | "stick" {
    return this.isStick ? "stick" : "folder";
  }
}
