// The typed face of drive.node: the interface of a drive and its engines.
export type {
  ByteRange,
  Caller,
  Drive,
  DriveBinding,
  DriveContent,
  DriveEntry,
  DriveNotice,
  DriveRequest,
  DriveSettings,
  DriveStatistics,
  Early,
} from "./src/drive/drive.ts";
export { kernelDrive } from "./src/drive/kernel-drive.ts";
export { memoryDrive } from "./src/drive/memory-drive.ts";
export type { MemoryDrive } from "./src/drive/memory-drive.ts";
export { nfsDrive, type NfsSettings } from "./src/drive/nfs-drive.ts";
export { type Invalidation, type LeftEarly, leftEarly } from "./src/drive/native-drive.ts";
export { Program, type ProgramStat, type Request, type RequestResult } from "./src/drive/program.ts";

/**
 * The numbers under which a drive of Windows knows the person whom the agent runs for (kPersonUid of
 * winfsp/security.h).
 */
export const WINDOWS_PERSON = { uid: 1000, gid: 1000 } as const;
