// The shape of the project: folders that a reader takes in at a glance, and imports that never lead back to where they
// began.
import { posix } from "node:path";
import { importsOf } from "./check-imports.ts";
import { type Check, type ProjectFile, isScript } from "./project.ts";

const FOLDER_FILES_MAX = 20;
const SOURCE = /(^|\/)src\/.*\.(ts|cc|h)$/;

export const checkFolderSizes: Check = (files) => {
  const counts = new Map<string, number>();
  for (const { path } of files) {
    const folder = posix.dirname(path);
    if (SOURCE.test(path)) counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count > FOLDER_FILES_MAX)
    .map(([path, count]) => ({
      path,
      says: `${count} source files, more than ${FOLDER_FILES_MAX}: split the folder`,
    }));
};

/** Imports by relative path, those of types too; packages import one way ([checkImportDirection]). */
function importGraph(files: readonly ProjectFile[]): Map<string, string[]> {
  const paths = new Set(files.map(({ path }) => path));
  const graph = new Map<string, string[]>();
  for (const file of files) {
    if (!isScript(file.path)) continue;
    const targets = importsOf(file)
      .filter(({ specifier }) => specifier.startsWith("."))
      .map(({ specifier }) => posix.join(posix.dirname(file.path), specifier))
      .filter((path) => paths.has(path));
    graph.set(file.path, [...new Set(targets)]);
  }
  return graph;
}

/**
 * Groups of files each of which reaches all others (Tarjan's strongly connected components); only those with a circle.
 */
function circlesOf(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const circles: string[][] = [];
  const visit = (path: string): void => {
    order.set(path, order.size);
    lowest.set(path, order.size - 1);
    open.push(path);
    for (const target of graph.get(path) ?? []) {
      if (!order.has(target)) visit(target);
      if (open.includes(target)) lowest.set(path, Math.min(lowest.get(path) ?? 0, lowest.get(target) ?? 0));
    }
    if (lowest.get(path) !== order.get(path)) return;
    const group = open.splice(open.indexOf(path));
    if (group.length > 1 || graph.get(path)?.includes(path)) circles.push(group.toSorted());
  };
  for (const path of graph.keys()) if (!order.has(path)) visit(path);
  return circles;
}

export const checkCircles: Check = (files) =>
  circlesOf(importGraph(files)).map(([path = "", ...others]) => {
    return { path, says: `imports in a circle with ${others.join(", ")}` };
  });
