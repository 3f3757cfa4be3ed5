// Looks through a message of DNS (RFC 1035 §4) before it is read: what it says that it has lies in it. The reader
// believes each count and length, and makes millions of texts of a few bytes that end long before those.

const HEADER_BYTES = 12;
/** Type and class of a question; and time and length of a record besides. */
const QUESTION_BYTES = 4;
const RECORD_BYTES = 10;
/** More questions and records than any message has that is meant for us. */
const ENTRIES_MAX = 64;
/** A label of this and above leads to a name before it. */
const POINTER = 0xc0;
const LABEL_MAX = 63;

/** Returns whether all of its questions and records lie in it, and its names end. */
export function isWholeMessage(message: Uint8Array): boolean {
  if (message.length < HEADER_BYTES) return false;
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  const [questions = 0, ...others] = [4, 6, 8, 10].map((at) => view.getUint16(at));
  const records = others.reduce((sum, count) => sum + count, 0);
  if (questions + records > ENTRIES_MAX) return false;
  let at: number | undefined = HEADER_BYTES;
  for (let entry = 0; entry < questions + records; entry++) {
    at = endOfName(message, at);
    const bytes = entry < questions ? QUESTION_BYTES : RECORD_BYTES;
    if (at === undefined || at + bytes > message.length) return false;
    at += bytes + (entry < questions ? 0 : view.getUint16(at + bytes - 2));
    if (at > message.length) return false;
  }
  return true;
}

/** Returns where a name ends; undefined where it does not, or leads to one that does not lie before it. */
function endOfName(message: Uint8Array, start: number): number | undefined {
  for (let at = start; at < message.length;) {
    const length = message[at] ?? 0;
    if (length === 0) return at + 1;
    if (length >= POINTER) {
      const target = ((length - POINTER) << 8) | (message[at + 1] ?? 0);
      return at + 1 < message.length && target < start ? at + 2 : undefined;
    }
    if (length > LABEL_MAX) return undefined;
    at += 1 + length;
  }
  return undefined;
}
