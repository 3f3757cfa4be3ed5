// A source's bytes as a content that is cut and sent: what is not in its place is brought when it is read.
import { ComposedContent } from "../transfer/compose.ts";
import type { FileSource } from "./volume-files.ts";

export class SourceContent extends ComposedContent {
  readonly source: FileSource;
  readonly #progress: ((doneBytes: number) => void) | undefined;

  constructor(source: FileSource, progress?: (doneBytes: number) => void) {
    super(source.sizeBytes === 0 ? [] : [{ file: source.file, offset: 0, length: source.sizeBytes }], []);
    this.source = source;
    this.#progress = progress;
  }

  override async read(offset: number, into: Uint8Array): Promise<void> {
    await super.read(offset, into);
    this.#progress?.(offset + into.length);
  }

  override async verify(offset: number, length: number): Promise<boolean> {
    await this.source.bring?.({ offset, length });
    return false;
  }
}
