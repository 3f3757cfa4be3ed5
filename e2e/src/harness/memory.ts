// Memory of processes, sampled while a test runs, and their descriptors. All from /proc.
import { readFileSync, readdirSync } from "node:fs";

const SAMPLE_MS = 100;
const MB = 1e6;

/** VmRSS in bytes, 0 for a process that has ended. */
export function residentBytes(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

export interface MemoryPeaks {
  /** MB (10^6 bytes), the largest of all samples, by the names given. */
  [name: string]: number;
}

/** Samples the resident memory of processes until `end`, which returns the largest values seen. */
export function watchMemory(processes: Record<string, number>): { peaks(): MemoryPeaks; end(): MemoryPeaks } {
  const peaks: MemoryPeaks = {};
  const sample = (): void => {
    for (const [name, pid] of Object.entries(processes)) {
      peaks[name] = Math.max(peaks[name] ?? 0, Math.round(residentBytes(pid) / MB));
    }
  };
  sample();
  const timer = setInterval(sample, SAMPLE_MS);
  return {
    peaks: () => ({ ...peaks }),
    end: () => {
      clearInterval(timer);
      sample();
      return peaks;
    },
  };
}

/** Open descriptors of a process. */
export function descriptorCount(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}
