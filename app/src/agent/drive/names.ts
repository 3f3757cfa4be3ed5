// Changes of names and attributes: asked of the server, answered to the program when committed and acknowledged
// ([W15]).
import type { Drive } from "@runnel/native/drive";
import type { Clock, NewAttributes, NodeState } from "@runnel/shared";
import { RunnelError, isRunnelError, packType, checkResult } from "@runnel/shared";
import type { OwnName } from "../changes/own-change.ts";
import type { OwnChanges } from "../changes/own-changes.ts";
import { EARLY_ATTEMPTS_MAX } from "../changes/coverage.ts";
import type { WriteBack } from "../changes/write-back.ts";
import type { Operations } from "../wire/operations.ts";
import type { EarlyNames, Outcome } from "./early-names.ts";
import { attributesIn, isRefusedElsewhere } from "./new-attributes.ts";
import type { RequestOfOp } from "./request-of-op.ts";
import type { LikelyBases } from "./saving/likely-bases.ts";
import type { Tree } from "./tree.ts";
import type { UnsentSaves } from "./saving/unsent.ts";

export interface NamesDeps {
  drive: Drive;
  tree: Tree;
  changes: OwnChanges;
  operations: Operations;
  clock: Clock;
  unsent: UnsentSaves;
  writeBack: WriteBack;
  early: EarlyNames;
  likelyBases: Pick<LikelyBases, "leaves">;
  /** Returns whether what is known of a file is current. */
  hasLease(node: number): boolean;
  problem(sentence: string): void;
}

export class Names {
  private readonly deps: NamesDeps;

  constructor(deps: NamesDeps) {
    this.deps = deps;
  }

  /** Answers a request from the journal where that may be done now, else when the server has done it. */
  private async answer(
    nodes: readonly number[],
    early: () => Promise<Outcome>,
    late: () => Promise<void>,
  ): Promise<void> {
    const { writeBack, tree } = this.deps;
    const real = nodes.map((node) => tree.real(node));
    // A file that it changes besides may not be covered: it has another name elsewhere.
    for (let attempt = 0; attempt < EARLY_ATTEMPTS_MAX && (await writeBack.begins(real)); attempt++) {
      const outcome = await early();
      if (outcome === "done") return;
      if (outcome === "late") break;
    }
    writeBack.mustGo("change", real);
    // Programs may know before the server what is to come of this.
    writeBack.early.stop();
    await writeBack.sent();
    await late();
  }

  create(request: RequestOfOp<"create">): Promise<void> {
    return this.answer(
      [request.folder],
      () => this.deps.early.create(request),
      () => this.createLate(request),
    );
  }

  make(request: RequestOfOp<"make">): Promise<void> {
    return this.answer(
      [request.folder],
      () => this.deps.early.make(request),
      () => this.makeLate(request),
    );
  }

  link(request: RequestOfOp<"link">): Promise<void> {
    return this.answer(
      [request.node, request.folder],
      () => this.deps.early.link(request),
      () => this.linkLate(request),
    );
  }

  remove(request: RequestOfOp<"remove">): Promise<void> {
    return this.answer(
      [request.folder],
      () => this.deps.early.remove(request),
      () => this.removeLate(request),
    );
  }

  rename(request: RequestOfOp<"rename">): Promise<void> {
    return this.answer(
      [request.folder, request.toFolder],
      () => this.deps.early.rename(request),
      () => this.renameLate(request),
    );
  }

  setAttributes(request: RequestOfOp<"setattr">): Promise<void> {
    return this.answer(
      [request.node],
      () => this.deps.early.setAttributes(request),
      () => this.setAttributesLate(request),
    );
  }

  /** A create is answered at once when it need not be exclusive: the make is sent before anything later. */
  private async createLate(request: RequestOfOp<"create">): Promise<void> {
    const { drive, tree, changes, operations, clock } = this.deps;
    operations.mayChange("create");
    // The kernel then opens the file that is there.
    if ((await tree.lookup(request.folder, request.name)) !== undefined)
      throw new RunnelError("Exists", "create", "The file exists already.");
    const node = await operations.newNode();
    const parent = await tree.node(request.folder);
    const timeNs = clock.wallNs();
    const owner = tree.ownerOfNew(parent, request.caller);
    const attributes = attributesIn(parent, { ...request, type: "file", rdev: 0, target: "" }, owner, timeNs);
    const [folder, { name }] = [tree.real(request.folder), request];
    operations.mayChange("create");
    const change = changes.begin([[folder, name, node]]);
    const body = { timeNs, folder, name, node, attributes: packAttributes(attributes) };
    const making = operations.send(change.n, "make", body);
    const state: NodeState = { ...attributes, node, sizeBytes: 0, ctimeNs: timeNs, nlink: 1, version: 0, seq: 0 };
    if (request.isExclusive || operations.isCrowded || isRefusedElsewhere(name)) {
      await making.finally(() => changes.step(change, "settle"));
      const made = await tree.node(node);
      this.show(request, made);
      // Another client may have taken the name since.
      drive.putNode(tree.entry(made), false);
    } else {
      const settled = making.then(
        () => tree.endMade(node),
        (error: unknown) => this.makeFailed(request, node, error),
      );
      changes.noteMade(change, { folder, name, state, settled });
      drive.putEntries([{ folder: request.folder, name, entry: tree.entry(state) }], false);
      drive.putNode(tree.entry(parent, request.folder), false);
    }
    drive.created(request.id, { node, version: 0 });
  }

  /** The name was there after all: what is written meets that node's content by the conflict rule. */
  private makeFailed(request: RequestOfOp<"create">, node: number, error: unknown): void {
    const { tree, drive, problem } = this.deps;
    tree.endMade(node, error);
    // Under its name the drive has what was to be made.
    drive.dropFolder(request.folder);
    if (tree.real(node) !== node) return;
    problem(`The file ${request.name} could not be created: ${error instanceof Error ? error.message : String(error)}`);
  }

  private async makeLate(request: RequestOfOp<"make">): Promise<void> {
    const { drive, tree, operations, clock } = this.deps;
    operations.mayChange("make");
    const node = await operations.newNode();
    const [folder, { name }] = [tree.real(request.folder), request];
    const parent = await tree.node(request.folder);
    const timeNs = clock.wallNs();
    const owner = tree.ownerOfNew(parent, request.caller);
    const attributes = packAttributes(attributesIn(parent, request, owner, timeNs));
    const body = { timeNs, folder, name, node, attributes };
    const result = checkResult("make", await operations.change("make", body, [[folder, name, node]]));
    // A folder that somebody else made first is theirs: mkdir says so, whatever the wire binds.
    if (result.node !== node) throw new RunnelError("Exists", "make", "The folder exists already.");
    if (request.type === "folder") tree.madeFolder(node, result.seq);
    this.show(request, await tree.node(node));
    drive.done(request.id);
  }

  private async linkLate(request: RequestOfOp<"link">): Promise<void> {
    const { drive, tree, operations } = this.deps;
    const folder = tree.real(request.folder);
    const node = tree.real(request.node);
    await operations.change("link", { node, folder, name: request.name }, [[folder, request.name, node]]);
    const state = await tree.node(node);
    this.show(request, state);
    drive.putNode(tree.entry(state), false);
    drive.done(request.id);
  }

  private async removeLate(request: RequestOfOp<"remove">): Promise<void> {
    const { drive, tree, operations } = this.deps;
    const folder = tree.real(request.folder);
    const { name, isFolder } = request;
    const state = await this.ofNow(request, async (bound) => {
      const node = tree.real(bound.node);
      await operations.change("remove", { folder, name, node, isFolder }, [[folder, name, 0]]);
    });
    this.deps.likelyBases.leaves(folder, name, tree.real(state.node));
    await this.dropUnsent(state);
    this.show(request, undefined);
    drive.done(request.id);
  }

  /**
   * Changes what the name is bound to: when another client has bound it otherwise meanwhile, that, as on a local disk.
   * Returns what it was. @throws NotFound; Stale when others bind it otherwise again and again.
   */
  private async ofNow(
    { op, folder, name }: { op: string; folder: number; name: string },
    change: (state: NodeState) => Promise<void>,
  ): Promise<NodeState> {
    for (let attempt = 1; ; attempt++) {
      const state = await this.deps.tree.lookup(folder, name);
      if (state === undefined) throw new RunnelError("NotFound", op, "There is no such file or folder.");
      try {
        await change(state);
        return state;
      } catch (error) {
        if (!isRunnelError(error, "Stale") || attempt === ATTEMPTS_MAX) throw error;
      }
    }
  }

  /**
   * Shows, after a change that came to `state`, what the name is bound to now, since another's change behind it may
   * have come before its answer.
   */
  private show({ folder, name }: { folder: number; name: string }, state: NodeState | undefined): void {
    const { drive, tree } = this.deps;
    const now = tree.boundTo(folder, name, state);
    drive.putEntries([{ folder, name, entry: now && tree.entry(now) }], false);
  }

  /**
   * A program here has taken a name of a file: if it was the last, what of it could not be sent is wanted no more. It
   * is not when another client gave the file a name meanwhile, or moved it before.
   */
  private async dropUnsent({ node, nlink }: NodeState): Promise<void> {
    const { tree, unsent } = this.deps;
    if (nlink <= 1 && !tree.isNamed(node)) await unsent.removed(tree.real(node));
  }

  private async renameLate(request: RequestOfOp<"rename">): Promise<void> {
    const { drive, tree, operations, unsent } = this.deps;
    const folder = tree.real(request.folder);
    const toFolder = tree.real(request.toFolder);
    const { name, toName, how } = request;
    let before: NodeState | undefined;
    const state = await this.ofNow(request, async (bound) => {
      before = unsent.isEmpty ? undefined : await tree.lookup(request.toFolder, toName);
      const node = tree.real(bound.node);
      const own: OwnName[] = [[toFolder, toName, node]];
      if (how !== "exchange") own.push([folder, name, 0]);
      await operations.change("rename", { folder, name, node, toFolder, toName, how }, own);
    });
    this.deps.likelyBases.leaves(folder, name, tree.real(state.node));
    const source = await tree.lookup(request.folder, name);
    const target = await tree.lookup(request.toFolder, toName);
    if (before !== undefined && before.node !== target?.node) await this.dropUnsent(before);
    drive.putEntries(
      [
        { folder: request.folder, name, entry: source && tree.entry(source) },
        { folder: request.toFolder, name: toName, entry: target && tree.entry(target) },
      ],
      false,
    );
    drive.done(request.id);
  }

  /** The file is known to have that mode and these owners. Its mtime may just be changing with a save. */
  private isAlreadySo({ mode, uid, gid, mtimeNs }: RequestOfOp<"setattr">, state: NodeState): boolean {
    const { tree, operations, hasLease } = this.deps;
    if (mtimeNs !== undefined || !hasLease(state.node) || operations.isCrowded) return false;
    if (tree.makingOf(state.node) !== undefined) return false;
    return (
      [mode ?? state.mode, uid ?? state.uid, gid ?? state.gid].join() === [state.mode, state.uid, state.gid].join()
    );
  }

  private async setAttributesLate(request: RequestOfOp<"setattr">): Promise<void> {
    const { drive, tree, operations, clock } = this.deps;
    const node = tree.real(request.node);
    const { mode, uid, gid, mtimeNs } = request;
    const change = Object.fromEntries(
      Object.entries({ mode, uid, gid, mtimeNs }).filter(([, value]) => value !== undefined),
    );
    let state = await tree.node(node);
    if (Object.keys(change).length > 0) {
      const timeNs = clock.wallNs();
      if (this.isAlreadySo(request, state)) {
        // `tar` and `sed -i` set what a new file has: nothing but the ctime is to be changed, and nobody waits for
        // that.
        operations.change("setAttr", { node, timeNs, change: {} }).catch(() => undefined);
        state = { ...state, ctimeNs: timeNs };
      } else {
        await operations.change("setAttr", { node, timeNs, change });
        state = await tree.node(node);
      }
    }
    drive.putNode(tree.entry(state, request.node), false);
    drive.done(request.id);
  }
}

/** Attempts at a change of a name that others change at the same time. */
const ATTEMPTS_MAX = 4;

function packAttributes(attributes: NewAttributes): object {
  return { ...attributes, type: packType(attributes.type) };
}
