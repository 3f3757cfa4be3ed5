// Several messages as one input: each with its length before it. Any bytes are a list, so that none of the fuzzer's
// mistakes is lost on it.
const LENGTH_BYTES = 2;
const MESSAGE_BYTES_MAX = 0xffff;

export function joinMessages(messages: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(
    messages.flatMap((message) => {
      const cut = message.subarray(0, MESSAGE_BYTES_MAX);
      return [Uint8Array.of(cut.length >> 8, cut.length & 255), cut];
    }),
  );
}

export function splitMessages(input: Uint8Array): Uint8Array[] {
  const messages: Uint8Array[] = [];
  for (let at = 0; at + LENGTH_BYTES <= input.length;) {
    const length = ((input[at] ?? 0) << 8) | (input[at + 1] ?? 0);
    messages.push(input.subarray(at + LENGTH_BYTES, at + LENGTH_BYTES + length));
    at += LENGTH_BYTES + length;
  }
  return messages;
}
