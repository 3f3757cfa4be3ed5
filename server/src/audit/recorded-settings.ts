// Settings and volumes as the last start had them, so that what this one changes is recorded [F187]. A server has its
// settings from its command line: this is where a change of them shows.
import type { DiskRoot } from "@runnel/shared";
import { readWhole, replaceWhole } from "@runnel/shared";
import { z } from "zod";
import { type AuditAct, type NewEntry, SERVER } from "./audit-entry.ts";
import { AUDIT_FOLDER } from "./audit-log.ts";

const FILE = `${AUDIT_FOLDER}/settings.json`;
const FORMAT = 1;

const texts = z.record(z.string(), z.string());
const recordedForm = z.object({ format: z.literal(FORMAT), volumes: texts, settings: texts });

export interface RecordedSettings {
  /** Folders by the name of the volume. */
  volumes: Readonly<Record<string, string>>;
  /** Values by the name of the setting; nothing secret is among them. */
  settings: Readonly<Record<string, string>>;
}

/** Records what differs from the last start, then remembers this one: after a crash in between it is recorded twice. */
export async function recordChanges(
  root: DiskRoot,
  now: RecordedSettings,
  record: (entry: NewEntry) => Promise<void>,
): Promise<void> {
  const before = await readRecorded(root);
  const changes = [...changesOfVolumes(before?.volumes ?? {}, now.volumes), ...changesOfSettings(before, now)];
  for (const [act, object, detail] of changes) await record({ who: SERVER, act, object, result: "done", detail });
  if (before === undefined || changes.length > 0)
    await replaceWhole(root, FILE, `${JSON.stringify({ format: FORMAT, ...now }, undefined, 1)}\n`);
}

/** Returns undefined when there are none, or they cannot be read: all is news then. */
async function readRecorded(root: DiskRoot): Promise<RecordedSettings | undefined> {
  const text = await readWhole(root, FILE);
  if (text === undefined) return undefined;
  try {
    return recordedForm.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

type Change = readonly [act: AuditAct, object: string, detail: string];

function changesOfVolumes(before: RecordedSettings["volumes"], now: RecordedSettings["volumes"]): Change[] {
  const names = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...names].flatMap((name): Change[] => {
    const [was, is] = [own(before, name), own(now, name)];
    if (was === is) return [];
    if (was === undefined) return [["volumeAdd", name, is ?? ""]];
    return is === undefined ? [["volumeRemove", name, was]] : [["volumeMove", name, `${was} → ${is}`]];
  });
}

/** Settings of the first start are all said. */
function changesOfSettings(before: RecordedSettings | undefined, { settings }: RecordedSettings): Change[] {
  const names = new Set([...Object.keys(before?.settings ?? {}), ...Object.keys(settings)]);
  return [...names].flatMap((name): Change[] => {
    const was = before === undefined ? undefined : own(before.settings, name);
    const is = own(settings, name);
    if (was === is) return [];
    return [["setting", name, was === undefined ? (is ?? "") : `${was} → ${is ?? "none"}`]];
  });
}

/** A volume may be called like a member of every object. */
function own(values: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}
