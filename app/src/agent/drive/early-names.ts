// Changes of names and attributes that programs are told of before the server: planned over the tree as programs see
// it, by the server's own rules, so that a program hears at once what it would hear from there.
import type { Drive, DriveRequest, Early } from "@runnel/native/drive";
import { type AttributeChange, type Change, type NodeState, RunnelError } from "@runnel/shared";
import type { TreeOperation } from "@runnel/shared/tree";
import type { WriteBack } from "../changes/write-back.ts";
import type { Operations } from "../wire/operations.ts";
import { attributesIn, isRefusedElsewhere } from "./new-attributes.ts";
import type { RequestOfOp } from "./request-of-op.ts";
import type { LikelyBases } from "./saving/likely-bases.ts";
import type { UnsentSaves } from "./saving/unsent.ts";
import type { Tree } from "./tree.ts";

export interface EarlyNamesDeps {
  drive: Drive;
  tree: Tree;
  operations: Operations;
  writeBack: WriteBack;
  unsent: UnsentSaves;
  likelyBases: Pick<LikelyBases, "leaves">;
}

/** A change that the drive has answered already; id 0: before this process. */
export type EarlyRequest = DriveRequest & Early;

export function isEarly(request: DriveRequest): request is EarlyRequest {
  return request.answeredNs !== undefined;
}

/** again: programs are not answered so any more. late: this one is for the server to answer. */
export type Outcome = "done" | "again" | "late";

export class EarlyNames {
  readonly #deps: EarlyNamesDeps;

  constructor(deps: EarlyNamesDeps) {
    this.#deps = deps;
  }

  async create(request: RequestOfOp<"create">): Promise<Outcome> {
    const { drive } = this.#deps;
    return this.#make({ ...request, type: "file", rdev: 0, target: "" }, (node) =>
      drive.created(request.id, { node, version: 0 }),
    );
  }

  async make(request: RequestOfOp<"make">): Promise<Outcome> {
    return this.#make(request, () => this.#deps.drive.done(request.id));
  }

  async #make(
    request: Pick<RequestOfOp<"make">, "folder" | "name" | "type" | "mode" | "caller" | "rdev" | "target">,
    done: (node: number) => void,
  ): Promise<Outcome> {
    const { tree, operations } = this.#deps;
    const { name } = request;
    if (isRefusedElsewhere(name)) return "late";
    if ((await tree.lookup(request.folder, name)) !== undefined)
      throw new RunnelError("Exists", "make", "The name is taken.");
    const [node, parent] = [await operations.newNode(), await tree.node(request.folder)];
    const folder = tree.real(request.folder);
    const owner = tree.ownerOfNew(parent, request.caller);
    return this.#change(
      (timeNs) => ({ op: "make", folder, name, node, attributes: attributesIn(parent, request, owner, timeNs) }),
      () => done(node),
      // A folder is empty, and its names are known by that.
      request.type === "folder" ? () => this.#deps.drive.putFolder(node, []) : undefined,
    );
  }

  async link(request: RequestOfOp<"link">): Promise<Outcome> {
    const { tree } = this.#deps;
    const { name } = request;
    if (isRefusedElsewhere(name)) return "late";
    await tree.lookup(request.folder, name);
    await tree.node(request.node);
    const [node, folder] = [tree.real(request.node), tree.real(request.folder)];
    return this.#change(
      () => ({ op: "link", node, folder, name }),
      () => this.#deps.drive.done(request.id),
    );
  }

  async remove(request: RequestOfOp<"remove">): Promise<Outcome> {
    const { tree, likelyBases, drive } = this.#deps;
    const { name, isFolder } = request;
    const state = await this.#bound(request.folder, name, "remove");
    if (state.type === "folder") await tree.listed(tree.real(state.node));
    const [node, folder] = [tree.real(state.node), tree.real(request.folder)];
    return this.#change(
      () => ({ op: "remove", folder, name, node, isFolder }),
      async () => {
        likelyBases.leaves(folder, name, node);
        await this.#removed(state);
        drive.done(request.id);
      },
    );
  }

  async rename(request: RequestOfOp<"rename">): Promise<Outcome> {
    const { tree, likelyBases, drive, writeBack } = this.#deps;
    const { name, toName, how } = request;
    if (isRefusedElsewhere(toName)) return "late";
    const state = await this.#bound(request.folder, name, "rename");
    const over = await tree.lookup(request.toFolder, toName);
    if (over?.type === "folder") await tree.listed(tree.real(over.node));
    const [node, folder, toFolder] = [tree.real(state.node), tree.real(request.folder), tree.real(request.toFolder)];
    return this.#change(
      () => ({ op: "rename", folder, name, node, toFolder, toName, how }),
      async () => {
        likelyBases.leaves(folder, name, node);
        const isOver = over !== undefined && how !== "exchange" && over.node !== state.node;
        // A rename that the server may refuse yet leaves the file as it was saved last.
        if (isOver && writeBack.isExclusive([folder, toFolder])) await this.#removed(over);
        drive.done(request.id);
      },
    );
  }

  async setAttributes(request: RequestOfOp<"setattr">): Promise<Outcome> {
    const { tree, drive } = this.#deps;
    const given = attributesOf(request);
    await tree.node(request.node);
    const node = tree.real(request.node);
    const done = async (): Promise<void> => {
      drive.putNode(tree.entry(await tree.node(request.node), request.node), false);
      drive.done(request.id);
    };
    if (Object.keys(given).length === 0) {
      await done();
      return "done";
    }
    return this.#change(() => ({ op: "setAttr", node, change: given }), done);
  }

  /**
   * Takes in what the drive has answered: what follows from it here is so in this turn of the loop. Resolves when the
   * journal has it; until then the drive's log does.
   */
  async takeIn(request: EarlyRequest): Promise<void> {
    const { drive, likelyBases, writeBack } = this.#deps;
    const operation = this.#operationOf(request);
    const leaves = operation.op === "remove" || operation.op === "rename" ? operation : undefined;
    const loses = this.#losesName(operation);
    const { change, recorded } = writeBack.takeIn(operation, request);
    if (leaves !== undefined) likelyBases.leaves(leaves.folder, leaves.name, leaves.node);
    if (operation.op === "make") writeBack.early.made();
    const removed = loses === undefined || change === undefined ? undefined : this.#removed(loses);
    if (request.id !== 0 && drive.tookIn(request.id) && change !== undefined) this.#show(change);
    await recorded;
    if (request.id !== 0) drive.done(request.id);
    await removed;
  }

  #operationOf(request: EarlyRequest): TreeOperation {
    const { tree } = this.#deps;
    const real = (node = 0): number => tree.real(node);
    switch (request.op) {
      case "make": {
        const { name, type, mode, rdev, target, caller, answeredNs: mtimeNs } = request;
        const attributes = { type, mode, uid: caller.uid, gid: caller.gid, mtimeNs, rdev, target };
        return { op: "make", folder: real(request.folder), name, node: real(request.node), attributes };
      }
      case "link":
        return { op: "link", node: real(request.node), folder: real(request.folder), name: request.name };
      case "remove": {
        const { name, isFolder } = request;
        return { op: "remove", folder: real(request.folder), name, node: real(request.node), isFolder };
      }
      case "rename": {
        const [folder, node, toFolder] = [real(request.folder), real(request.node), real(request.toFolder)];
        const { name, toName, how } = request;
        return { op: "rename", folder, name, node, toFolder, toName, how };
      }
      case "setattr":
        return { op: "setAttr", node: real(request.node), change: attributesOf(request) };
      default:
        throw new TypeError(`The drive answers no ${request.op} by itself.`);
    }
  }

  /** Returns the file that loses a name to an operation for good, unless the server may refuse that yet. */
  #losesName(operation: TreeOperation): NodeState | undefined {
    const { tree, writeBack } = this.#deps;
    if (operation.op === "remove") return tree.known(operation.node);
    if (operation.op !== "rename" || !writeBack.isExclusive([operation.folder, operation.toFolder])) return undefined;
    const over = tree.boundTo(operation.toFolder, operation.toName, undefined);
    return over?.node === operation.node ? undefined : over;
  }

  /** @throws NotFound */
  async #bound(folder: number, name: string, operation: string): Promise<NodeState> {
    const state = await this.#deps.tree.lookup(folder, name);
    if (state !== undefined) return state;
    throw new RunnelError("NotFound", operation, "There is no such file or folder.");
  }

  async #change(
    operationAt: (timeNs: bigint) => TreeOperation,
    done: () => void | Promise<void>,
    shown?: () => void,
  ): Promise<Outcome> {
    const planned = this.#deps.writeBack.change(operationAt);
    if (planned === undefined) return "again";
    if (planned.change !== undefined) {
      this.#show(planned.change);
      shown?.();
    }
    try {
      await planned.recorded;
    } catch (error) {
      // The drive has shown what is not so.
      for (const { folder } of planned.change?.bindings ?? []) this.#deps.drive.dropFolder(folder);
      throw error;
    }
    await done();
    return "done";
  }

  #show({ bindings, nodes }: Change): void {
    const { drive, tree } = this.#deps;
    const named = new Set(bindings.map(({ node }) => node));
    for (const { node } of nodes) {
      const state = named.has(node) ? undefined : tree.known(node);
      // The drive knows who has open what is gone.
      if (state !== undefined && state.nlink > 0) drive.putNode(tree.entry(state), false);
    }
    drive.putEntries(
      bindings.map(({ folder, name, node }) => {
        const state = node === 0 ? undefined : tree.known(node);
        return { folder, name, entry: state && tree.entry(state) };
      }),
      false,
    );
  }

  /** A program here has taken a name of a file: if it was the last, what of it could not be sent is wanted no more. */
  async #removed({ node, nlink }: NodeState): Promise<void> {
    const { tree, unsent } = this.#deps;
    if (nlink <= 1 && !tree.isNamed(node)) await unsent.removed(tree.real(node));
  }
}

function attributesOf({ mode, uid, gid, mtimeNs }: RequestOfOp<"setattr">): AttributeChange {
  return {
    ...(mode !== undefined && { mode }),
    ...(uid !== undefined && { uid }),
    ...(gid !== undefined && { gid }),
    ...(mtimeNs !== undefined && { mtimeNs }),
  };
}
