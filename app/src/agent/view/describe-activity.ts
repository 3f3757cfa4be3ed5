// Says an entry of the activity log as a sentence.
import type { ActivityEntry } from "./activity.ts";

export function describeActivity(entry: Pick<ActivityEntry, "kind" | "folder" | "name" | "count" | "detail">): string {
  const { kind, detail } = entry;
  const what = entry.name === "" ? "" : ` ${filesOf(entry)}`;
  const why = detail === "" ? "" : ` ${detail}`;
  switch (kind) {
    case "mounted":
      return "The drive was mounted.";
    case "unmounted":
      return `The drive was unmounted.${why}`;
    case "offline":
      return `Offline${times(entry)}.${why}`;
    case "online":
      return `Connected${times(entry)}.`;
    case "saved":
      return `Saved ${filesOf(entry)}.`;
    case "fetched":
      return `Fetched ${filesOf(entry)}.`;
    case "unsent":
      return `Kept here, to be sent: ${filesOf(entry)}.`;
    case "refused":
      return `Not saved on the server: ${filesOf(entry)}.${why}`;
    case "conflict":
      return `Changed in two places: ${filesOf(entry)}. Both are kept.`;
    case "problem":
      return detail;
    case "paused":
      return `Paused${what}${why}.`;
    case "resumed":
      return `Resumed${what}.${why}`;
  }
}

function filesOf({ folder, name, count }: Pick<ActivityEntry, "folder" | "name" | "count">): string {
  if (count > 1) return folder === "" ? `${count} files` : `${count} files in ${folder}`;
  return folder === "" ? name : `${folder}/${name}`;
}

function times({ count }: { count: number }): string {
  return count === 1 ? "" : `, ${count} times`;
}
