// Names on a stick (docs/FORMAT.md, "Sticks"), and bounds of what is believed of one: it is a stranger's input.

const KiB = 1024;
const MiB = 1024 * KiB;

export const CARRY_FOLDER = "runnel-carry";
export const PACKS_FOLDER = "packs";
export const MANIFESTS_FOLDER = "manifests";
export const INVENTORIES_FOLDER = "inventories";

export const STICK_LIMITS = {
  /** Bytes of a pack, and its chunks. */
  packBytes: 256 * MiB,
  packChunks: 131_072,
  /** Bytes of a chunk: those of the longest that is cut. */
  chunkBytes: 1 * MiB,
  /** Contents that a manifest names, and its bytes. */
  manifestContents: 4_096,
  manifestBytes: 16 * MiB,
  /** Manifests and inventories that are read of a stick: the first by name. */
  manifests: 4_096,
  inventories: 64,
  /** Digest keys of an inventory. */
  inventoryKeys: 4_194_304,
  /** Characters of a path, and of a device's name. */
  pathCharacters: 4_096,
  deviceCharacters: 64,
} as const;
