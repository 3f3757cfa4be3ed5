// The rig that the drive contract needs of an engine: the fake agent, and programs that use the drive. In the
// memory engine both live in the test's process; on a mount each is a process of its own (fuse-rig.ts).
import type { Program } from "../../drive.ts";
import type { FakeAgent } from "./fake-agent.ts";

type Methods<T> = {
  [Name in keyof T as T[Name] extends (...args: never[]) => unknown ? Name : never]: T[Name] extends (
    ...args: infer Args
  ) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never;
};

/** The fake agent, from wherever it runs. */
export type Agent = Methods<FakeAgent>;

/** A fake agent of this process, asked as one of another process is; `hears`: once it has heard of all until then. */
export function agentOf(fake: FakeAgent, hears: () => Promise<void> = async () => {}): Agent {
  return new Proxy(fake, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name, target);
      return typeof method === "function"
        ? async (...args: unknown[]): Promise<unknown> => {
            await hears();
            return method.apply(target, args);
          }
        : method;
    },
  }) as unknown as Agent;
}

/** System calls of one program. They fail with an error whose `errno` is positive. */
export type TestProgram = Pick<
  Program,
  | "stat"
  | "lstat"
  | "fstat"
  | "readdir"
  | "open"
  | "read"
  | "write"
  | "fsync"
  | "close"
  | "ftruncate"
  | "truncate"
  | "chmod"
  | "utimes"
  | "futimes"
  | "mkdir"
  | "symlink"
  | "readlink"
  | "link"
  | "unlink"
  | "rmdir"
  | "rename"
  | "getxattr"
  | "listxattr"
  | "setxattr"
  | "removexattr"
  | "seek"
  | "allocate"
>;

export interface DriveRig {
  agent: Agent;
  program: TestProgram;
  /**
   * Opens a file for reading, and gives up once the agent holds the request; resolves when the program has got away.
   */
  openInterrupted(path: string): Promise<void>;
  /** Waits until something is so. */
  until(what: () => Promise<boolean>): Promise<void>;
  close(): Promise<void>;
}

export interface RigSettings {
  deadlinesMs: Record<string, number>;
  entriesMax: number;
}

export const RIG_SETTINGS: RigSettings = {
  deadlinesMs: Object.fromEntries(
    [
      "lookup",
      "getattr",
      "list",
      "open",
      "create",
      "make",
      "link",
      "remove",
      "rename",
      "setattr",
      "fetch",
      "commit",
    ].map((op) => [op, 5000]),
  ),
  entriesMax: 10_000,
};

/** Waits for a condition; the test's own timeout is the bound. */
export async function waitUntil(what: () => Promise<boolean>): Promise<void> {
  while (!(await what())) await new Promise((resolve) => setTimeout(resolve, 5));
}
