// Extended attributes for programs: those that the server has told, with what was changed here since; asked of the
// server otherwise.
import type { Drive } from "@runnel/native/drive";
import type { XattrChange, Xattr } from "@runnel/shared";
import { LIMITS, RunnelError, changeXattrs, isXattrName, checkResult } from "@runnel/shared";
import { EARLY_ATTEMPTS_MAX } from "../changes/coverage.ts";
import type { WriteBack } from "../changes/write-back.ts";
import type { Operations } from "../wire/operations.ts";
import type { Session } from "../wire/session.ts";
import type { RequestOfOp } from "./request-of-op.ts";
import type { Tree } from "./tree.ts";

export interface XattrsDeps {
  drive: Drive;
  tree: Tree;
  session: Session;
  operations: Operations;
  writeBack: Pick<WriteBack, "begins" | "change" | "mustGo" | "sent">;
}

export class Xattrs {
  readonly #deps: XattrsDeps;

  constructor(deps: XattrsDeps) {
    this.#deps = deps;
  }

  async give(request: RequestOfOp<"xattrs">): Promise<void> {
    const { drive, tree } = this.#deps;
    await tree.node(request.node);
    drive.xattrs(request.id, await this.#of(tree.real(request.node)));
  }

  /** Answers from the journal where that may be done now, else when the server has done it. */
  async set(request: RequestOfOp<"setxattr">): Promise<void> {
    const { tree, operations, writeBack } = this.#deps;
    const nodes = [tree.real(request.node)];
    for (let attempt = 0; attempt < EARLY_ATTEMPTS_MAX && (await writeBack.begins(nodes)); attempt++) {
      const change = await this.#changeOf(request);
      if (change === undefined) return;
      const node = tree.real(request.node);
      const planned = writeBack.change(() => ({ op: "setAttr", node, change: { xattr: change } }));
      if (planned === undefined) continue;
      await planned.recorded;
      return this.#done(request);
    }
    writeBack.mustGo("set attribute", nodes);
    // Earlier changes of the file go first.
    await writeBack.sent();
    operations.mayChange("set attribute");
    const change = await this.#changeOf(request);
    if (change === undefined) return;
    const node = tree.real(request.node);
    await operations.change("setAttr", { node, change: { xattr: change } });
    // Somebody else's change may have come before: they are asked for when they are wanted.
    tree.pending.toldXattrs.delete(node);
    return this.#done(request);
  }

  /** @returns undefined when the program has been refused. */
  async #changeOf({ id, node, name, how, value }: RequestOfOp<"setxattr">): Promise<XattrChange | undefined> {
    const { drive, tree } = this.#deps;
    await tree.node(node);
    const before = await this.#of(tree.real(node));
    const isThere = before.some(([known]) => known === name);
    const refuse = (kind: "Exists" | "NoAttribute" | "BadName" | "TooLarge"): undefined => void drive.fail(id, kind);
    if (how === "create" && isThere) return refuse("Exists");
    if ((how === "replace" || how === "remove") && !isThere) return refuse("NoAttribute");
    if (!isXattrName(name)) return refuse("BadName");
    if (value.length > LIMITS.xattrValueBytes) return refuse("TooLarge");
    const change = [name, how === "remove" ? null : Uint8Array.from(value)] as const;
    changeXattrs(before, change);
    return change;
  }

  async #done({ id, node }: RequestOfOp<"setxattr">): Promise<void> {
    const { drive, tree } = this.#deps;
    drive.putNode(tree.entry(await tree.node(node), node), false);
    drive.done(id);
  }

  /** @throws Unreachable when they are not known here and cannot be asked for. */
  async #of(node: number): Promise<readonly Xattr[]> {
    const { tree, session } = this.#deps;
    const known = tree.pending.xattrs(node);
    if (known !== undefined) return known;
    const asOf = tree.pending.toldSeq(node);
    const { seq, xattrs } = checkResult("xattrs", await session.ask("xattrs", { node }));
    if (seq < asOf)
      throw new RunnelError("Io", "read attributes", "The server's answer is older than what it told before.");
    tree.pending.toldXattrs.set(node, { seq, xattrs });
    return tree.pending.withOwn(node, xattrs);
  }
}
