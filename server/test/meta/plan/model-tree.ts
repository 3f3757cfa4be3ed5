// A tree as plain as can be, to test the planner against: what rename(2) and its like do, and nothing of seqs, versions
// and rows.
import type { ErrorKind } from "@runnel/shared";
import type { Operation } from "../../../src/meta/meta-store.ts";
import { ROOT } from "../meta-harness.ts";

interface ModelNode {
  /** undefined for a file. */
  names: Map<string, number> | undefined;
  text: string;
  /** Place where the last name was taken, and by whom. */
  taken: { folder: number; name: string; instance: string } | undefined;
}

type Refusal = ErrorKind | undefined;

export class ModelTree {
  readonly nodes = new Map<number, ModelNode>([[ROOT, { names: new Map(), text: "", taken: undefined }]]);

  /** The names of a folder in the tree, or why there are none. */
  #folder(folder: number): Map<string, number> | ErrorKind {
    const node = this.nodes.get(folder);
    if (node === undefined || node.taken !== undefined) return "NotFound";
    return node.names ?? "NotFolder";
  }

  isFolder(node: number | undefined): boolean {
    return node !== undefined && this.nodes.get(node)?.names !== undefined;
  }

  namesOf(node: number): [number, string][] {
    const found: [number, string][] = [];
    for (const [folder, { names }] of this.nodes) {
      for (const [name, bound] of names ?? []) if (bound === node) found.push([folder, name]);
    }
    return found;
  }

  #isWithin(node: number, folder: number): boolean {
    if (node === folder) return true;
    return [...(this.nodes.get(folder)?.names?.values() ?? [])].some((child) => this.#isWithin(node, child));
  }

  #take(folder: number, name: string, node: number, instance: string): void {
    const taken = this.nodes.get(node);
    if (taken !== undefined && this.namesOf(node).length === 0) taken.taken = { folder, name, instance };
  }

  #bindNew(folder: number, name: string, node: number, names: Map<string, number> | undefined): Refusal {
    const into = this.#folder(folder);
    if (typeof into === "string") return into;
    const bound = into.get(name);
    if (bound !== undefined) return names !== undefined && this.isFolder(bound) ? undefined : "Exists";
    into.set(name, node);
    this.nodes.set(node, { names, text: "", taken: undefined });
    return undefined;
  }

  #link(node: number, folder: number, name: string): Refusal {
    const source = this.nodes.get(node);
    if (source === undefined || source.taken !== undefined) return "NotFound";
    if (source.names !== undefined) return "Denied";
    const into = this.#folder(folder);
    if (typeof into === "string") return into;
    if (into.has(name)) return "Exists";
    into.set(name, node);
    return undefined;
  }

  #over(node: number, over: number): Refusal {
    if (this.isFolder(over) && !this.isFolder(node)) return "IsFolder";
    if (!this.isFolder(over) && this.isFolder(node)) return "NotFolder";
    return (this.nodes.get(over)?.names?.size ?? 0) > 0 ? "NotEmpty" : undefined;
  }

  #rename(operation: Extract<Operation, { op: "rename" }>, instance: string): Refusal {
    const { folder, name, node, toFolder, toName, how } = operation;
    const [from, to] = [this.#folder(folder), this.#folder(toFolder)];
    if (typeof from === "string") return from;
    if (typeof to === "string") return to;
    if (from.get(name) !== node) return from.has(name) ? "Stale" : "NotFound";
    if (folder !== toFolder && this.#isWithin(toFolder, node)) return "Invalid";
    const over = to.get(toName);
    if (how === "keep" && over !== undefined) return "Exists";
    if (how === "exchange" && over === undefined) return "NotFound";
    if (over === node) return undefined;
    if (how === "exchange" && over !== undefined) {
      if (folder !== toFolder && this.#isWithin(folder, over)) return "Invalid";
      from.set(name, over);
      to.set(toName, node);
      return undefined;
    }
    const refusal = over === undefined ? undefined : this.#over(node, over);
    if (refusal !== undefined) return refusal;
    from.delete(name);
    to.set(toName, node);
    if (over !== undefined) this.#take(toFolder, toName, over, instance);
    return undefined;
  }

  #remove(operation: Extract<Operation, { op: "remove" }>, instance: string): Refusal {
    const { folder, name, node, isFolder } = operation;
    const from = this.#folder(folder);
    if (typeof from === "string") return from;
    if (from.get(name) !== node) return from.has(name) ? "Stale" : "NotFound";
    if (this.isFolder(node) !== isFolder) return isFolder ? "NotFolder" : "IsFolder";
    if ((this.nodes.get(node)?.names?.size ?? 0) > 0) return "NotEmpty";
    from.delete(name);
    this.#take(folder, name, node, instance);
    return undefined;
  }

  /** `to`: the node that the store says it wrote; another one is a file kept beside at `name`. */
  #write(
    node: number,
    text: string,
    instance: string,
    kept: { node: number; folder: number; name: string } | undefined,
  ): Refusal {
    const written = this.nodes.get(node);
    if (written === undefined) return "NotFound";
    if (written.names !== undefined) return "IsFolder";
    const isKept = written.taken !== undefined && written.taken.instance !== instance;
    if (isKept !== (kept !== undefined)) return "Corrupt";
    if (kept === undefined || written.taken === undefined) {
      written.text = text;
      return undefined;
    }
    const { folder } = written.taken;
    const beside = typeof this.#folder(folder) === "string" ? ROOT : folder;
    if (kept.folder !== beside || !kept.name.startsWith(`${written.taken.name} (conflict `)) return "Corrupt";
    const refusal = this.#bindNew(kept.folder, kept.name, kept.node, undefined);
    const made = this.nodes.get(kept.node);
    if (made !== undefined) made.text = text;
    return refusal;
  }

  /** Why the operation is refused, if it is. `kept` is what the store did for a write to a node without a name. */
  apply(
    operation: Operation,
    instance: string,
    kept: { node: number; folder: number; name: string } | undefined,
  ): Refusal {
    switch (operation.op) {
      case "make": {
        const names = operation.attributes.type === "folder" ? new Map<string, number>() : undefined;
        return this.#bindNew(operation.folder, operation.name, operation.node, names);
      }
      case "link":
        return this.#link(operation.node, operation.folder, operation.name);
      case "rename":
        return this.#rename(operation, instance);
      case "remove":
        return this.#remove(operation, instance);
      case "setAttr": {
        const { taken } = this.nodes.get(operation.node) ?? { taken: { instance: undefined } };
        return taken !== undefined && taken.instance !== instance ? "NotFound" : undefined;
      }
      case "write":
        return this.#write(operation.node, textOf(operation), instance, kept);
    }
  }

  /** Path → what is there. */
  paths(folder = ROOT, prefix = ""): [string, string][] {
    return [...(this.nodes.get(folder)?.names ?? [])].flatMap(([name, node]) => {
      const path = `${prefix}/${name}`;
      if (!this.isFolder(node)) return [[path, this.nodes.get(node)?.text ?? ""]] as [string, string][];
      return [[path, "folder"] as [string, string], ...this.paths(node, path)];
    });
  }
}

/** The text that harness.write made the recipe's digest of. */
export function textOf({ content }: Extract<Operation, { op: "write" }>): string {
  return Buffer.from(content.recipe?.digests ?? [])
    .toString()
    .replaceAll("\0", "");
}
