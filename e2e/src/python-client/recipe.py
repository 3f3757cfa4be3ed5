"""Chunks, descriptors and recipes: where a content is cut, and what is said of the pieces. (PROTOCOL.md: Contents, W4)"""

import hashlib
import struct
from itertools import islice
from typing import Iterable, Iterator, List, NamedTuple, Tuple

POLYNOMIAL = 0xBFE6B8A5BF378D83
DEGREE = 63
WINDOW_BYTES = 48
CUT_VALUE = 0x78


class Preset(NamedTuple):
    cut_mask: int
    bytes_min: int
    bytes_max: int


PRESETS = (
    Preset((1 << 13) - 1, 2048, 65536),
    Preset((1 << 16) - 1, 16384, 524288),
    Preset((1 << 19) - 1, 262144, 1048576),
    Preset((1 << 13) - 1, 65536, 65536),
    Preset((1 << 13) - 1, 1048576, 1048576),
)
# Chunks of one size, of contents up to 8 GiB.
FIXED = PRESETS[3]


class Descriptor(NamedTuple):
    length: int
    digest: bytes


def _remainder(value: int) -> int:
    """A polynomial over GF(2) modulo POLYNOMIAL."""
    while value.bit_length() > DEGREE:
        value ^= POLYNOMIAL << (value.bit_length() - 1 - DEGREE)
    return value


# What takes the eight bits above the degree away again, and what a byte has become when it leaves the window.
_REDUCE = [(top << DEGREE) ^ _remainder(top << DEGREE) for top in range(256)]
_LEAVE = [_remainder(byte << (8 * (WINDOW_BYTES - 1))) for byte in range(256)]


def chunk_lengths(content: bytes, preset: Preset = PRESETS[0]) -> List[int]:
    lengths = []
    start = 0
    while start < len(content):
        end = _next_cut(content, start, preset)
        lengths.append(end - start)
        start = end
    return lengths


def _next_cut(content: bytes, start: int, preset: Preset) -> int:
    last = min(start + preset.bytes_max, len(content))
    first = start + preset.bytes_min
    if first >= last:
        return last
    fingerprint = 0
    for byte in content[first - WINDOW_BYTES : first]:
        fingerprint = fingerprint << 8 | byte
        fingerprint ^= _REDUCE[fingerprint >> DEGREE]
    for position in range(first, last):
        if fingerprint & preset.cut_mask == CUT_VALUE:
            return position
        fingerprint = (fingerprint ^ _LEAVE[content[position - WINDOW_BYTES]]) << 8 | content[position]
        fingerprint ^= _REDUCE[fingerprint >> DEGREE]
    return last


def recipe_of(content: bytes, preset: Preset = PRESETS[0]) -> List[Descriptor]:
    uncounted = [Descriptor(length, b"") for length in chunk_lengths(content, preset)]
    return [Descriptor(length, hashlib.sha256(data).digest()) for (length, _), data in cut(content, uncounted)]


def encode_recipe(recipe: Iterable[Descriptor]) -> bytes:
    return b"".join(struct.pack("<I", chunk.length) + chunk.digest for chunk in recipe)


def decode_recipe(encoded: bytes) -> List[Descriptor]:
    if len(encoded) % 36 != 0:
        raise ValueError("An encoded recipe has 36 bytes a chunk.")
    return [Descriptor(length, digest) for length, digest in struct.iter_unpack("<I32s", encoded)]


def oid_of(recipe: Iterable[Descriptor]) -> bytes:
    return hashlib.sha256(encode_recipe(recipe)).digest()


class Content(NamedTuple):
    """The bytes of a version ([node, seq]) and their recipe."""

    version: List[int]
    data: bytes
    recipe: List[Descriptor]

    def chunks(self) -> Iterator[Tuple[Descriptor, bytes]]:
        return cut(self.data, self.recipe)

    def slice(self, first: int, count: int) -> bytes:
        """The bytes of some of its chunks."""
        return b"".join(data for _, data in islice(self.chunks(), first, first + count))


def cut(data: bytes, recipe: Iterable[Descriptor]) -> Iterator[Tuple[Descriptor, bytes]]:
    start = 0
    for chunk in recipe:
        yield chunk, data[start : start + chunk.length]
        start += chunk.length
