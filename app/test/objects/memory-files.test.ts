import { MemoryFiles } from "./memory-files.ts";
import { volumeFilesContract } from "./volume-files-contract.ts";

volumeFilesContract("in memory", async () => ({ files: new MemoryFiles(), close: async () => undefined }));
