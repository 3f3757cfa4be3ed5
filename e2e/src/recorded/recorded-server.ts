// The server of a recorded run, through all its processes.
import type { Sandbox, ServerProcess } from "../harness/index.ts";
import { witnessed } from "./witness.ts";

const START_MS = 30_000;

export interface RecordedServerSettings {
  termSeconds: number;
  mutant?: string | undefined;
}

export class RecordedServer {
  readonly served: string;
  readonly notes: string;
  readonly warnings: string[] = [];
  private readonly sandbox: Sandbox;
  private readonly settings: RecordedServerSettings;
  private server: ServerProcess | undefined;

  constructor(sandbox: Sandbox, settings: RecordedServerSettings) {
    this.sandbox = sandbox;
    this.settings = settings;
    this.served = sandbox.makeFolder("served");
    this.notes = sandbox.path("notes-server");
  }

  get port(): number {
    if (this.server === undefined) throw new Error("The server was never started.");
    return this.server.port;
  }

  /** At the port that it had before, if it ran before. */
  async start(): Promise<void> {
    const { sandbox, settings, served, notes } = this;
    this.server = await sandbox.startServer({
      volumes: { docs: served },
      data: sandbox.makeFolder("data"),
      listen: `127.0.0.1:${this.server?.port ?? 0}`,
      leaseTerm: settings.termSeconds,
      readyMs: START_MS,
      env: witnessed({ of: "server", notes, mutant: settings.mutant }),
    });
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    this.note();
    await this.server?.kill();
  }

  /** Moves what it has said so far to `warnings`. */
  note(): void {
    const said = this.server?.stderr.trim() ?? "";
    if (said !== "") this.warnings.push(`server: ${said}`);
  }
}
