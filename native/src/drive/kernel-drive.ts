// The Drive of a kernel, through FUSE or WinFsp: drive.node's session, with errors turned into sentences for a person.
import { RunnelError } from "@runnel/shared/model";
import type { Drive, DriveNotice, DriveRequest, DriveSettings } from "./drive.ts";
import { AgentSide, dispatch, newNativeDrive, type NativeItem } from "./native-drive.ts";

type State = "new" | "starting" | "mounted" | "closing" | "closed";

interface Waiting {
  resolve(): void;
  reject(error: Error): void;
}

class KernelDrive extends AgentSide implements Drive {
  #state: State = "new";
  #on: { requests(batch: DriveRequest[]): void; notice(notice: DriveNotice): void } | undefined;
  #starting: Waiting | undefined;
  #closing: Waiting | undefined;

  constructor(settings: DriveSettings) {
    super(newNativeDrive("kernel", settings));
  }

  start(on: { requests(batch: DriveRequest[]): void; notice(notice: DriveNotice): void }): Promise<void> {
    if (this.#state !== "new") throw new RunnelError("Busy", "mount", "This drive has been started before.");
    this.#on = on;
    const problem = this.native.start((items) => this.#take(items));
    if (problem !== undefined) {
      this.#state = "closed";
      return Promise.reject(new RunnelError("Unavailable", "mount", problem));
    }
    this.#state = "starting";
    return new Promise((resolve, reject) => {
      this.#starting = { resolve, reject };
    });
  }

  #take(items: NativeItem[]): void {
    dispatch(items, {
      requests: (batch) => this.#on?.requests(batch),
      notice: (notice) => {
        if (notice.op === "unmounted") this.#failStart(notice.reason);
        this.#on?.notice(notice);
      },
      internal: (item) => {
        if (item.op === "ready") {
          this.#state = "mounted";
          this.#starting?.resolve();
          this.#starting = undefined;
        } else if (item.op === "committed") {
          this.committedAll(item.ticket, item.kind);
        } else {
          this.#endClose(item);
        }
      },
    });
  }

  #failStart(reason: string): void {
    this.#starting?.reject(
      new RunnelError("Unavailable", "mount", `The drive ended while it was being mounted. ${reason}`),
    );
    this.#starting = undefined;
  }

  /** `problem`: a sentence, or "" when programs use the drive. */
  #endClose({ isDone, problem }: { isDone: boolean; problem: string }): void {
    const closing = this.#closing;
    this.#closing = undefined;
    this.#state = isDone ? "closed" : "mounted";
    if (isDone) {
      this.endCommits();
      closing?.resolve();
    } else {
      closing?.reject(
        problem === ""
          ? new RunnelError("Busy", "unmount", "Programs use the drive: close their files and windows, then try again.")
          : new RunnelError("Unavailable", "unmount", problem),
      );
    }
  }

  close(force: boolean): Promise<void> {
    if (this.#state === "closed" || this.#state === "new") return Promise.resolve();
    if (this.#closing !== undefined) {
      return Promise.reject(new RunnelError("Busy", "unmount", "The drive is being unmounted already."));
    }
    this.#state = "closing";
    return new Promise((resolve, reject) => {
      this.#closing = { resolve, reject };
      this.native.close(force);
    });
  }
}

/**
 * A mount: through libfuse3 on Linux, WinFsp on Windows. @throws RunnelError Unsupported when drive.node is missing or
 * does not load.
 */
export function kernelDrive(settings: DriveSettings): Drive {
  return new KernelDrive(settings);
}
