// Follows a path without asking anybody.
import { ROOT_NODE } from "@runnel/shared";
import type { Known } from "./replica.ts";

/** Returns the node at a path, as far as is known; 0: none. "" is the root. */
export function nodeAt(tree: { lookup(folder: number, name: string): Known }, path: string): number {
  let node = ROOT_NODE;
  for (const name of path.split("/").filter((word) => word !== "")) {
    const known = tree.lookup(node, name);
    if (known.is !== "bound") return 0;
    ({ node } = known.state);
  }
  return node;
}
