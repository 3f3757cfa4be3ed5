// write: a new content as a stream of items, one commit at its end (LBFS's four operations on one channel). A
// repetition goes on where the broken one stopped, or gets the stored result.
import type { Channel, RequestOf } from "@runnel/shared";
import { RunnelError, isRunnelError } from "@runnel/shared";
import type { Operation, OperationResult } from "../../meta/meta-store.ts";
import { HappensLater } from "../../commit-log/queue.ts";
import type { FinishedWrite, WriteSession } from "../../upload/write-session.ts";
import type { Attachment } from "../attachment.ts";
import type { Results, Turn } from "../operation-order.ts";
import type { Call } from "./call.ts";
import { digestOfOpening, digestOfWrite, givenAttributes, inOrder, isSameOpening, placeOf, timed } from "./change.ts";

type Request = RequestOf<"write">;

export function serveWrite(request: Request, call: Call): Promise<OperationResult> {
  const { attachment } = call;
  attachment.forgetUpTo(request.received, request.but);
  return attachment.order.run(inOrder(request), (turn) => serveInTurn(request, call, turn));
}

async function serveInTurn(
  request: Request,
  { attachment, channel, sending }: Call,
  turn: Turn,
): Promise<OperationResult> {
  const { volume, instance, holder } = attachment;
  const done = request.isResumed ? await storedResult(attachment, request, turn) : undefined;
  if (done !== undefined) return done;
  const session = await openSession(attachment, request, channel);
  using transfer = attachment.transfers.save(request.node, request.sizeBytes, session.progress);
  let finished: FinishedWrite;
  try {
    finished = await session.receive(channel, sending.places.runs, request.isResumed ? [] : request.items);
  } catch (error) {
    if (channel.abort.signal.aborted) {
      const { device } = holder;
      await volume.uploads.suspend({ instance, n: request.n, device }, session);
    } else await session.discard();
    throw error;
  }
  transfer.had(0, request.sizeBytes);
  return await commit(attachment, request, session, finished, turn);
}

/** @returns undefined when it has not been executed before. */
async function storedResult(
  { volume, instance, holder }: Attachment,
  request: Request,
  turn: Turn,
): Promise<OperationResult | undefined> {
  const done = await volume.meta.result(instance, request.n);
  if (done === undefined) return undefined;
  if (!isSameOpening(done.digest, digestOfOpening(openingOf(request, await turn.before)))) {
    throw new RunnelError("Invalid", "write", `Operation ${request.n} was another one before.`, {
      detail: { rule: "operation id" },
    });
  }
  turn.executed(done.result);
  await volume.conflicts.note(request.node, done.result, holder.name);
  await volume.acknowledged(done.result.seq, holder, request.n);
  return done.result;
}

/** Returns the fields with what it names of the results of others. */
function openingOf({ node, base, sizeBytes }: Request, results: Results): Pick<Request, "node" | "base" | "sizeBytes"> {
  return { node: results.node(node), base: results.version(base), sizeBytes };
}

async function openSession(
  { volume, instance, holder }: Attachment,
  request: Request,
  channel: Channel,
): Promise<WriteSession> {
  const { n, sizeBytes, preset = 0, isResumed } = request;
  if (isResumed) await volume.uploads.resumeDetached(instance, n);
  // It is for the next one then.
  channel.abort.signal.throwIfAborted();
  const kept = isResumed ? volume.uploads.take(instance, n) : undefined;
  const isSame = kept?.sizeBytes === sizeBytes && kept.preset === preset;
  if (!isSame) await kept?.discard();
  if (isResumed) channel.send(["from", isSame ? kept.received : 0]);
  return isSame ? kept : volume.writeSession({ device: holder.device, instance, n, sizeBytes, preset });
}

async function commit(
  attachment: Attachment,
  request: Request,
  session: WriteSession,
  finished: FinishedWrite,
  turn: Turn,
): Promise<OperationResult> {
  const { volume, instance, holder } = attachment;
  const { attributes, n, timeNs } = request;
  const { content, oid, data, stagedBytes } = finished;
  let release: (() => void) | undefined;
  try {
    // Data that arrives is taken in meanwhile; only the commit is after others.
    const { results, placing } = await placeOf(request, turn);
    const opening = openingOf(request, results);
    const { node, base } = opening;
    release = await volume.content.reserve(content.sizeBytes - stagedBytes);
    const operation: Operation = { op: "write", node, base, content, attributes: givenAttributes(attributes) };
    const id = { instance, n, digest: digestOfWrite(digestOfOpening(opening), oid), ...timed(timeNs) };
    const { result, isRepeated, acknowledged } = await volume.submit(operation, id, holder, data, placing);
    // A repetition that was executed before has staged in vain.
    if (isRepeated) await session.discard();
    else await session.handOver();
    // The room is needed until the content is in the folder.
    void volume.content.whenApplied(result.seq).then(release, release);
    turn.executed(result);
    if (!isRepeated) volume.traffic.saved(content.sizeBytes, session.progress.wireBytes);
    await volume.conflicts.note(node, result, holder.name);
    await acknowledged;
    return result;
  } catch (error) {
    release?.();
    // With an Io error the commit may be in the log, and what it staged with it: the next start knows.
    if (isRunnelError(error, "Io") || error instanceof HappensLater) await session.handOver();
    else await session.discard();
    throw error;
  }
}
