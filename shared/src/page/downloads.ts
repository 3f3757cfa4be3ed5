// Files that a page may fetch, each once: a call gives a ticket, and the browser saves what GET /files/TICKET answers.

export interface Download {
  /** Name that the browser proposes. */
  name: string;
  /** Media type. */
  type: string;
  /** Begins when it is fetched. */
  content(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/** A browser saves it under this name, and shows it never (RFC 6266; RFC 8187 for what is not ASCII). */
export function attachment(name: string): string {
  const encoded = encodeURIComponent(name.toWellFormed()).replaceAll(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16)}`,
  );
  return `attachment; filename="${name.replaceAll(/[^\w. -]/g, "_")}"; filename*=UTF-8''${encoded}`;
}
