// Extended attributes for programs: kept by node while their seq is the node's, asked of the server otherwise.
import type { Drive } from "@runnel/native/drive";
import type { NodeState, Xattr } from "@runnel/shared";
import { LIMITS, RecentMap, RunnelError, changeXattrs, isXattrName, checkResult } from "@runnel/shared";
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
  writeBack: Pick<WriteBack, "sent">;
}

/** Nodes whose attributes are remembered. */
const KEPT_MAX = 256;

export class Xattrs {
  readonly #deps: XattrsDeps;
  readonly #kept = new RecentMap<number, { seq: number; xattrs: readonly Xattr[] }>(KEPT_MAX);

  constructor(deps: XattrsDeps) {
    this.#deps = deps;
  }

  async give(request: RequestOfOp<"xattrs">): Promise<void> {
    const { drive, tree } = this.#deps;
    drive.xattrs(request.id, await this.#of(await tree.node(request.node)));
  }

  async set(request: RequestOfOp<"setxattr">): Promise<void> {
    const { drive, tree, operations, writeBack } = this.#deps;
    const { name, how } = request;
    // Earlier changes of the file go first.
    await writeBack.sent();
    operations.mayChange("set attribute");
    const before = await this.#of(await tree.node(request.node));
    const isThere = before.some(([known]) => known === name);
    if (how === "create" && isThere) return drive.fail(request.id, "Exists");
    if ((how === "replace" || how === "remove") && !isThere) return drive.fail(request.id, "NoAttribute");
    if (!isXattrName(name)) return drive.fail(request.id, "BadName");
    if (request.value.length > LIMITS.xattrValueBytes) return drive.fail(request.id, "TooLarge");
    const change = [name, how === "remove" ? null : Uint8Array.from(request.value)] as const;
    changeXattrs(before, change);
    const node = tree.real(request.node);
    await operations.change("setAttr", { node, change: { xattr: change } });
    // Somebody else's change may have come before: they are asked for when they are wanted.
    this.#kept.delete(node);
    drive.putNode(tree.entry(await tree.node(request.node), request.node), false);
    drive.done(request.id);
  }

  /** @throws Unreachable when they are not known here and cannot be asked for. */
  async #of(state: NodeState): Promise<readonly Xattr[]> {
    if (state.xattrSeq === undefined) return [];
    const kept = this.#kept.get(state.node);
    if (kept?.seq === state.xattrSeq) return kept.xattrs;
    const answer = await this.#deps.session.ask("xattrs", { node: state.node });
    const { seq, xattrs } = checkResult("xattrs", answer);
    if (seq < state.xattrSeq)
      throw new RunnelError("Io", "read attributes", "The server's answer is older than what it told before.");
    this.#kept.set(state.node, { seq, xattrs });
    return xattrs;
  }
}
