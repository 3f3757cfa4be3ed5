// statsCsv: the statistics as a table that a browser saves. For pages.
import { z } from "zod";
import type { Mount } from "../agent/mount.ts";
import { text } from "./schemas.ts";
import { agentVerb } from "./verb.ts";

const schemas = {
  asks: z.object({}),
  /** `ticket`: fetches the file from /files/TICKET, once, within a minute. */
  gives: z.object({ ticket: text }),
};

const WIRE = ["data", "recipes", "metadata", "overhead"] as const;

export const statsCsv = agentVerb(schemas, {
  pageAsks: schemas.asks,
  async handle(agent) {
    const csv = statsTable(await agent.mountsAt("stats"));
    const content = (): Uint8Array[] => [Buffer.from(csv)];
    return {
      ticket: await agent.deps.pages.offer({ name: "runnel-stats.csv", type: "text/csv; charset=utf-8", content }),
    };
  },
});

/** Rows as RFC 4180 has them, in bytes. */
export function statsTable(mounts: readonly Mount[]): string {
  const head = [
    "mountpoint",
    "url",
    "read",
    "written",
    ...WIRE.map((kind) => `sent ${kind}`),
    ...WIRE.map((kind) => `received ${kind}`),
  ];
  const rows = mounts.map((mount) => {
    const { applications, sent, received } = mount.statistics();
    const { mountpoint, url } = mount.settings;
    const moved = [applications.readBytes, applications.writtenBytes];
    return [mountpoint, url, ...moved, ...WIRE.map((kind) => sent[kind]), ...WIRE.map((kind) => received[kind])];
  });
  return [head, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** A text that a spreadsheet would take for a formula gets a quote in front. */
function cell(value: string | number): string {
  const shown = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown;
}
