// Bounds of what a supply may cost this computer, and of what is believed of a folder that is a stranger's.

const KiB = 1024;
const MiB = 1024 * KiB;

export const SUPPLY_LIMITS = {
  /** Supplies of an agent. */
  supplies: 16,
  /** Files of a supply that are indexed, and their chunks: some 60 bytes of the index each. */
  files: 1_000_000,
  chunks: 20_000_000,
  /** Folders that are known and still to be looked through. */
  foldersToSee: 1_000_000,
  /** Characters of a path in a supply. */
  pathCharacters: 4096,
  /** Cut between two pauses: what is cut twice at the border of two, a chunk, is a hundredth of it. */
  windowBytes: 8 * MiB,
  /** Files that one reader of a supply has open at the same time. */
  openFiles: 4,
  /** Bytes of a run that is not one chunk. */
  runBytes: 1 * MiB,
} as const;
