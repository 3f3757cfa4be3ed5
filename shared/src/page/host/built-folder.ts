// The folder of the built pages, as a browser asks for it: by paths that cannot lead out of it.
import { readFile, realpath } from "node:fs/promises";
import { join, sep } from "node:path";

/** Segment of a path: no hidden file, no "..", no separator of any system. */
const SEGMENT = /^\w[\w.@+-]*$/;

export class BuiltFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /**
   * Reads what is at a path that begins with "/". @returns undefined when there is no such file, or none inside the
   * folder.
   */
  async read(path: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const segments = path.split("/").slice(1);
    if (!segments.every((segment) => SEGMENT.test(segment))) return undefined;
    try {
      const [folder, file] = await Promise.all([realpath(this.path), realpath(join(this.path, ...segments))]);
      return file.startsWith(folder + sep) ? await readFile(file) : undefined;
    } catch {
      return undefined;
    }
  }
}
