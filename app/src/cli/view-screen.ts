// Lines that show what an agent does now: its sentence, its drives, what moves, what happened last.
import { formatLeft } from "../agent/view/format-left.ts";
import type { DriveItem, TransferItem } from "../agent/view/views.ts";
import type { ViewState } from "../agent/view/view-state.ts";
import { formatBytes, formatPercent } from "./format.ts";
import { shareBar } from "./progress-bar.ts";

const TRANSFERS_MAX = 10;

export function describeView({ head, lists, omitted }: ViewState): string[] {
  const drives = (lists.drives ?? []) as DriveItem[];
  const transfers = (lists.transfers ?? []) as TransferItem[];
  const hidden = Math.max(0, transfers.length - TRANSFERS_MAX) + (omitted.transfers ?? 0);
  return [
    head.sentence,
    ...(head.next === null ? [] : [head.next]),
    "",
    ...drives.map(({ key, url, sentence }) => `${key}  ${url}  ${sentence}`),
    ...transfers.slice(0, TRANSFERS_MAX).flatMap(describeTransfer),
    ...(hidden === 0 ? [] : [`And ${hidden} more.`]),
  ];
}

function describeTransfer(transfer: TransferItem): string[] {
  const { direction, path, files, totalBytes, doneBytes, reusedBytes, bytesPerSecond, leftMs, waitsFor } = transfer;
  const name = files === 1 ? path : `${path} and ${files - 1} more`;
  const facts = [
    `${formatBytes(doneBytes)} of ${formatBytes(totalBytes)}`,
    ...(bytesPerSecond === 0 ? [] : [`${formatBytes(bytesPerSecond)}/s`]),
    ...(leftMs === null ? [] : [`${formatLeft(leftMs)} left`]),
    ...(reusedBytes === 0 || doneBytes === 0 ? [] : [`${formatPercent((100 * reusedBytes) / doneBytes)} reused`]),
    ...(waitsFor.length === 0 ? [] : [`waits for ${waitsFor.join(", ")}`]),
  ];
  return [
    `${direction === "up" ? "up  " : "down"}  ${name}`,
    `      ${shareBar(doneBytes, totalBytes)}`,
    `      ${facts.join(", ")}`,
  ];
}
