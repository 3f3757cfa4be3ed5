"""What stands between a content and the wire: which chunks are copied, which are sent, and how they are packed.
(PROTOCOL.md: W20, W21, W28, W30, W31, W32)"""

import hashlib
from typing import Any, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import frame
from connection import Channel
from recipe import Content, Descriptor, cut, decode_recipe, encode_recipe

RUN_BYTES_MAX = 1 << 20
DESCRIPTORS_PER_ITEM_MAX = 4096
# What is smaller rides in its item, instead of in a frame of bulk.
INSIDE_BYTES_MAX = 16 << 10


class Span(NamedTuple):
    """Chunks of a new content, one item each span: copied from the base (from its chunk `source`), or new (None). A new one may
    resemble the base's chunks `like` (first, count)."""

    first: int
    count: int
    source: Optional[int]
    like: Tuple[int, int] = (0, 0)


def plan(recipe: Sequence[Descriptor], base: Optional[Content]) -> List[Span]:
    old = base.recipe if base else []
    place = {chunk: index for index, chunk in reversed(list(enumerate(old)))}
    spans: List[Span] = []
    size_bytes = 0
    for index, chunk in enumerate(recipe):
        source = place.get(chunk)
        last = spans[-1] if spans else None
        size_bytes += chunk.length
        if last and _goes_on(last, chunk, source, old, size_bytes):
            spans[-1] = last._replace(count=last.count + 1)
        else:
            spans.append(Span(index, 1, source))
            size_bytes = chunk.length
    return [_with_like(spans, at, old) for at in range(len(spans))]


def _goes_on(last: Span, chunk: Descriptor, source: Optional[int], old: Sequence[Descriptor], size_bytes: int) -> bool:
    if last.source is None:
        return source is None and size_bytes <= RUN_BYTES_MAX and last.count < DESCRIPTORS_PER_ITEM_MAX
    follows = last.source + last.count
    return follows < len(old) and old[follows] == chunk


def _with_like(spans: List[Span], at: int, old: Sequence[Descriptor]) -> Span:
    """A new span between two copied ones most likely is what lay between them, edited."""
    if spans[at].source is not None or not old:
        return spans[at]
    before = next((span for span in reversed(spans[:at]) if span.source is not None), None)
    after = next((span for span in spans[at + 1 :] if span.source is not None), None)
    first = before.source + before.count if before else 0
    last = after.source if after else len(old)
    count = 0
    size_bytes = 0
    while first + count < last and size_bytes + old[first + count].length <= RUN_BYTES_MAX:
        size_bytes += old[first + count].length
        count += 1
    return spans[at]._replace(like=(first, count))


def _bytes_of(recipe: Sequence[Descriptor], data: bytes, first: int, count: int) -> bytes:
    start = sum(chunk.length for chunk in recipe[:first])
    return data[start : start + sum(chunk.length for chunk in recipe[first : first + count])]


def say_span(
    channel: Channel, span: Span, recipe: Sequence[Descriptor], data: bytes, base: Optional[Content], by_digest: bool
) -> None:
    if base and span.source is not None:
        channel.say(["c", base.version, span.source, span.count])
    elif by_digest:
        channel.say(["h", encode_recipe(recipe[span.first : span.first + span.count]), None, 0])
    else:
        run = _bytes_of(recipe, data, span.first, span.count)
        packings: List[Tuple[Any, bytes]] = [("raw", run), ("zstd", frame.fold(run))]
        if base and span.like[1]:
            packings.append(([base.version, *span.like], frame.fold(run, base.slice(*span.like))))
        _say_run(channel, ["d"], len(run), packings)


def say_needed(channel: Channel, index: int, span: Span, recipe: Sequence[Descriptor], data: bytes) -> None:
    """Sends the chunks of an item in runs of whole chunks."""
    first = span.first
    while first < span.first + span.count:
        count = 1
        while first + count < span.first + span.count and _fits(recipe[first : first + count + 1]):
            count += 1
        run = _bytes_of(recipe, data, first, count)
        _say_run(channel, ["r", index], len(run), [("raw", run), ("zstd", frame.fold(run))])
        first += count


def _fits(chunks: Sequence[Descriptor]) -> bool:
    return sum(chunk.length for chunk in chunks) <= RUN_BYTES_MAX


def _say_run(channel: Channel, head: list, length: int, packings: List[Tuple[Any, bytes]]) -> None:
    encoding, packed = min(packings, key=lambda packing: len(packing[1]))
    if len(packed) <= INSIDE_BYTES_MAX:
        channel.say([*head, encoding, length, packed])
    else:
        channel.say([*head, encoding, length, len(packed)])
        channel.send_bulk(packed)


def decode(channel: Channel, encoding: Any, length: int, packed_length: int, held: Sequence[Content] = ()) -> bytes:
    """The run that the bulk stream goes on with."""
    packed = channel.read(packed_length)
    if encoding == "raw":
        return packed
    if encoding == "zstd":
        return frame.unfold(packed, length)
    index, first, count = encoding
    return frame.unfold(packed, length, held[index].slice(first, count))


def join_parts(parts: Sequence[Any], held: Sequence[Content]) -> List[Descriptor]:
    recipe: List[Descriptor] = []
    for part in parts:
        if isinstance(part, bytes):
            recipe += decode_recipe(part)
        else:
            index, first, count = part
            recipe += held[index].recipe[first : first + count]
    return recipe


def checked(run: bytes, recipe: Sequence[Descriptor]) -> Iterator[Tuple[Descriptor, bytes]]:
    """A run's chunks, each being what its descriptor says."""
    for chunk, data in cut(run, recipe):
        if hashlib.sha256(data).digest() != chunk.digest:
            raise frame.Malformed("a chunk is not what its digest says")
        yield chunk, data
