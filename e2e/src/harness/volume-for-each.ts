// Serves a volume for each test of a file from one server: what one test does to its volume, no other sees.
import type { Sandbox } from "./sandbox.ts";
import type { ServerProcess } from "./product.ts";

/** A test's own volume. */
export interface TestVolume {
  name: string;
  /** Folder of the test, in which the served one is. */
  place: string;
  served: string;
  url: string;
}

export class VolumeForEach {
  readonly server: ServerProcess;
  readonly #sandbox: Sandbox;
  readonly #unused: Iterator<string>;

  private constructor(sandbox: Sandbox, server: ServerProcess, names: readonly string[]) {
    this.#sandbox = sandbox;
    this.server = server;
    this.#unused = names.values();
  }

  /** Serves so many volumes; `fill` puts into each folder what is there before the server is. */
  static async serve(
    sandbox: Sandbox,
    count: number,
    fill: (folder: string) => void | Promise<void> = () => undefined,
  ): Promise<VolumeForEach> {
    const names = Array.from({ length: count }, (_, index) => `v${index}`);
    const volumes = Object.fromEntries(names.map((name) => [name, sandbox.makeFolder(name, "served")]));
    for (const folder of Object.values(volumes)) await fill(folder);
    return new VolumeForEach(sandbox, await sandbox.startServer({ volumes }), names);
  }

  /** @throws Error when there are more tests than volumes. */
  next(): TestVolume {
    const { value: name } = this.#unused.next() as { value: string | undefined };
    if (name === undefined) throw new Error("There are more tests than volumes.");
    const place = this.#sandbox.path(name);
    return { name, place, served: this.#sandbox.path(name, "served"), url: `${this.server.url}/${name}` };
  }
}
