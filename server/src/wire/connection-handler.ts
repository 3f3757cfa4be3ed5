// What a client may ask on its connection: hello first, then attach, then operations on an attachment. Every request is checked here, once.
import { createHash } from "node:crypto";
import type { AttributeChange, Channel, Clock, Executor, Link, NewAttributes, RequestName, RequestOf } from "@runnel/shared";
import { Connection, LIMITS, PROTOCOL_VERSION, REQUESTS, RunnelError, check, encodeCbor, isRunnelError, packState, ROOT_NODE } from "@runnel/shared";
import type { Operation, OperationId, OperationResult } from "../meta/meta-store.ts";
import type { Volume } from "../volume/volume.ts";
import { WriteSession } from "../volume/write-session.ts";
import { Attachment } from "./attachment.ts";
import { serveFetch, serveGetHash } from "./fetch.ts";
import { serveFind } from "./find.ts";
import { replayFeed } from "./resume.ts";

export interface HandlerParts {
  link: Link;
  clock: Clock;
  executor: Executor;
  volumes: ReadonlyMap<string, Volume>;
  /** "Runnel 0.1.0" */
  software: string;
  warn(message: string, error?: unknown): void;
  ended(): void;
}

/** Node ids given out at once. */
const NODES_AT_ONCE = 4096;
/** A listing pauses while more than this waits to be sent. */
const DRAIN_BYTES = 256 * 1024;
const DRAIN_POLL_MS = 5;

export class ConnectionHandler {
  private readonly parts: HandlerParts;
  private readonly connection: Connection;
  private readonly attachments = new Map<number, Attachment>();
  private who = "";
  private hasGreeted = false;

  constructor(parts: HandlerParts) {
    this.parts = parts;
    this.connection = new Connection({
      link: parts.link,
      isClient: false,
      clock: parts.clock,
      executor: parts.executor,
      opened: (channel, operation, request) => this.opened(channel, operation, request),
      closed: (error) => this.closed(error),
    });
  }

  close(error: RunnelError): void {
    this.connection.close(error);
  }

  private closed(error: RunnelError): void {
    if (isRunnelError(error, "Invalid", "TooLarge")) this.parts.warn(`A client was cut off: ${error.message}`);
    for (const attachment of this.attachments.values()) attachment.volume.feed.detach(attachment.holder, false);
    this.attachments.clear();
    this.parts.ended();
  }

  private async opened(channel: Channel, operation: string, message: unknown): Promise<void> {
    if (!(operation in REQUESTS)) throw new RunnelError("Unsupported", operation.slice(0, 50), "This server does not know the operation.");
    const name = operation as RequestName;
    const request = check(REQUESTS[name], message, name);
    if (name === "hello") this.hello(channel, request as RequestOf<"hello">);
    else if (!this.hasGreeted) throw new RunnelError("Invalid", name, "The first request of a connection is hello.", { detail: { rule: "W11" } });
    else if (name === "attach") await this.attach(channel, request as RequestOf<"attach">);
    else await this.serve(name, channel, request);
  }

  private hello(channel: Channel, request: RequestOf<"hello">): void {
    if (request.protocol !== PROTOCOL_VERSION) {
      throw new RunnelError("Version", "hello", `This server speaks protocol ${PROTOCOL_VERSION}, the client ${request.protocol}: update the older one.`, {
        detail: { need: PROTOCOL_VERSION },
      });
    }
    this.hasGreeted = true;
    this.who = request.software;
    channel.end({ protocol: PROTOCOL_VERSION, software: this.parts.software, termMs: 0 });
  }

  private async attach(channel: Channel, request: RequestOf<"attach">): Promise<void> {
    const volume = this.parts.volumes.get(request.volume);
    if (volume === undefined) throw new RunnelError("NotFound", "attach", `This server has no volume "${request.volume}".`);
    if (this.attachments.size >= LIMITS.attachments) throw new RunnelError("Busy", "attach", "This connection has too many attachments.");
    const attachment = new Attachment(volume, channel, request.instance);
    await volume.meta.setAttached(request.instance, true);
    const isSameEpoch = request.epoch === volume.epoch;
    attachment.holdBack();
    attachment.holder = volume.feed.attach(request.instance, this.who, attachment, isSameEpoch ? (request.seq ?? 0) : 0);
    this.attachments.set(channel.id, attachment);
    channel.abort.signal.addEventListener("abort", () => this.left(channel.id));
    const root = await volume.meta.node(ROOT_NODE);
    if (root === undefined) throw new RunnelError("Unavailable", "attach", "The volume has no root.");
    const nodes = request.wantsNodes ? await volume.meta.allocateNodes(NODES_AT_ONCE) : undefined;
    const replay = isSameEpoch && request.follows !== undefined ? await replayFeed(volume, attachment, request.seq ?? 0, request.follows) : undefined;
    channel.send({
      epoch: volume.epoch,
      seq: volume.seq,
      root: packState(root),
      nodes: nodes === undefined ? null : [nodes.first, nodes.count],
      isResumed: replay !== undefined,
      isReadOnly: false,
      termMs: volume.feed.termMs,
    });
    replay?.send();
    attachment.release(replay?.upTo ?? 0);
    await attachment.serve();
    // The client ended the feed: it detaches, and gives up its lease.
    this.attachments.delete(channel.id);
    volume.feed.detach(attachment.holder, true);
    await volume.meta.setAttached(request.instance, false);
    channel.end();
  }

  private left(id: number): void {
    const attachment = this.attachments.get(id);
    if (attachment === undefined) return;
    this.attachments.delete(id);
    attachment.volume.feed.detach(attachment.holder, false);
  }

  private attachment(id: number): Attachment {
    const attachment = this.attachments.get(id);
    if (attachment === undefined) throw new RunnelError("Invalid", "request", "The request names no attachment of this connection.", { detail: { rule: "W12" } });
    return attachment;
  }

  private async serve(name: RequestName, channel: Channel, message: { attachment?: number } | object): Promise<void> {
    const attachment = this.attachment((message as { attachment: number }).attachment);
    const { volume } = attachment;
    switch (name) {
      case "find":
        return serveFind(volume, attachment.holder, message as RequestOf<"find">, channel, () => this.drained());
      case "fetch":
        return serveFetch(volume, message as RequestOf<"fetch">, channel);
      case "getHash":
        return serveGetHash(volume, message as RequestOf<"getHash">, channel);
      case "stat":
        return this.stat(volume, message as RequestOf<"stat">, channel);
      case "write":
        return this.write(attachment, message as RequestOf<"write">, channel);
      case "space":
        channel.end(await volume.content.space());
        return;
      case "whenUp":
        await volume.content.whenUp((message as RequestOf<"whenUp">).seq);
        channel.end();
        return;
      case "newNodes": {
        const range = await volume.meta.allocateNodes(NODES_AT_ONCE);
        channel.end([range.first, range.count]);
        return;
      }
      case "detach":
        this.left((message as RequestOf<"detach">).attachment);
        channel.end();
        return;
      default:
        channel.end(await this.change(attachment, name, message));
    }
  }

  private async stat(volume: Volume, request: RequestOf<"stat">, channel: Channel): Promise<void> {
    const asOf = volume.seq;
    const nodes = await volume.meta.nodes(request.nodes);
    const names = await Promise.all(request.names.map(([folder, name]) => volume.meta.lookup(folder, name)));
    const pack = (states: typeof nodes): (unknown[] | null)[] => states.map((state) => (state === undefined ? null : packState(state)));
    channel.end({ asOf, nodes: pack(nodes), names: pack(names) });
  }

  /** A name operation: one answer. */
  private async change(attachment: Attachment, name: RequestName, message: object): Promise<OperationResult> {
    const { n, received } = message as { n: number; received: number };
    const operation = asOperation(name, message);
    const id = operationId(attachment.instance, n, operation);
    this.forget(attachment, received);
    return attachment.volume.commit(operation, id, attachment.holder);
  }

  private async write(attachment: Attachment, request: RequestOf<"write">, channel: Channel): Promise<void> {
    const { volume, instance } = attachment;
    this.forget(attachment, request.received);
    let session: WriteSession | undefined;
    if (request.isResumed) {
      const done = await volume.meta.result(instance, request.n);
      if (done !== undefined) {
        channel.end(done.result);
        return;
      }
      session = volume.stagedWrites.take(instance, request.n);
      channel.send(["from", session?.received ?? 0]);
    }
    session ??= new WriteSession(volume, request.sizeBytes);
    let release: (() => void) | undefined;
    try {
      const { content, data, staged } = await session.receive(channel);
      release = await volume.content.reserve(content.sizeBytes);
      const { node, base, attributes } = request;
      const operation: Operation = { op: "write", node, base, content, attributes: clean(attributes) };
      const id = operationId(instance, request.n, { op: "write", node, base, sizeBytes: content.sizeBytes });
      const result = await volume.commit(operation, id, attachment.holder, data);
      // A repetition that was executed before has staged in vain.
      if (staged !== undefined && result.version === 0) await staged.discard();
      channel.end(result);
    } catch (error) {
      if (channel.abort.signal.aborted) volume.stagedWrites.keep(instance, request.n, session);
      else await session.discard();
      throw error;
    } finally {
      release?.();
    }
  }

  /** Not waited for: operations keep the order in which they came. */
  private forget(attachment: Attachment, received: number): void {
    if (received === 0 || received % FORGET_EVERY !== 0) return;
    attachment.volume.meta
      .forgetResults(attachment.instance, received)
      .catch((error: unknown) => this.parts.warn("Results of old operations could not be removed.", error));
  }

  private async drained(): Promise<void> {
    while (this.connection.isOpen && this.connection.link.bufferedBytes > DRAIN_BYTES) {
      await new Promise<void>((resolve) => {
        this.parts.clock.after(DRAIN_POLL_MS, resolve);
      });
    }
  }
}

/** Results are forgotten in steps: one row less is not worth a write each. */
const FORGET_EVERY = 256;

/** Identity of an operation is its number and what it says: a repeated number that says something else is refused. */
function operationId(instance: string, n: number, operation: object): OperationId {
  const digest = new Uint8Array(createHash("sha256").update(encodeCbor(operation)).digest());
  return { instance, n, digest };
}

function asOperation(name: RequestName, message: object): Operation {
  if (name === "make") {
    const { folder, name: word, node, attributes } = message as RequestOf<"make">;
    return { op: "make", folder, name: word, node, attributes: attributes as NewAttributes };
  }
  if (name === "link") {
    const { node, folder, name: word } = message as RequestOf<"link">;
    return { op: "link", node, folder, name: word };
  }
  if (name === "rename") {
    const { folder, name: word, node, toFolder, toName, how } = message as RequestOf<"rename">;
    return { op: "rename", folder, name: word, node, toFolder, toName, how };
  }
  if (name === "remove") {
    const { folder, name: word, node, isFolder } = message as RequestOf<"remove">;
    return { op: "remove", folder, name: word, node, isFolder };
  }
  if (name === "setAttr") {
    const { node, change } = message as RequestOf<"setAttr">;
    return { op: "setAttr", node, change: clean(change) };
  }
  throw new RunnelError("Unsupported", name, "This server does not know the operation.");
}

/** Without the fields that were not given. */
function clean(change: RequestOf<"setAttr">["change"]): Omit<AttributeChange, "sizeBytes"> {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
}
