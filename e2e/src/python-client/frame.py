"""Frames and what is in them: varints, CBOR with numbers for keys, compressed payloads. (PROTOCOL.md: W1, W2, W5, W56)"""

import io
import struct
from typing import Any, NamedTuple, Tuple

import cbor2
import zstandard

OPEN, ITEM, BULK, END, CANCEL, CREDIT, ACK, CALL = range(1, 9)
COMPRESSED = 0x80
CONTROL = (OPEN, ITEM, END, CALL)
NUMBERS = (CREDIT, ACK)
CONTROL_BYTES_MAX = 1 << 20
COMPRESS_ABOVE_BYTES = 1024

KEYS = (
    "attachment n received timeNs node folder name attributes type mode uid gid mtimeNs rdev target base sizeBytes isResumed seq "
    "version conflict change offset length held hasRecipe toFolder toName how isFolder nodes names asOf kind path conflictCopy "
    "versions changes atMs pending stuck unavailable scan why done total excluded sentence preset"
).split()
NUMBER_OF_KEY = {name: number for number, name in enumerate(KEYS)}


class Malformed(Exception):
    """The peer sent what the protocol does not allow."""


class Time:
    """Nanoseconds since 1970: eight bytes on the wire, also when a smaller form would hold them."""

    def __init__(self, ns: int):
        self.ns = ns


class Frame(NamedTuple):
    kind: int
    channel: int
    payload: Any  # a message, a number, or bytes


def encode_varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def decode_varint(data: bytes, at: int = 0) -> Tuple[int, int]:
    """The value, and where it ended."""
    value = 0
    for count in range(8):
        if at + count >= len(data):
            break
        byte = data[at + count]
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            if value >= 1 << 53:
                break
            return value, at + count + 1
    raise Malformed("not a varint")


def _with_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {NUMBER_OF_KEY.get(key, key): _with_numbers(part) for key, part in value.items()}
    return [_with_numbers(part) for part in value] if isinstance(value, (list, tuple)) else value


def _with_names(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            KEYS[key] if isinstance(key, int) and key < len(KEYS) else key: _with_names(part)
            for key, part in value.items()
        }
    if isinstance(value, list):
        return [_with_names(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _encode_time(encoder: Any, value: Any) -> None:
    ns = value.ns
    encoder.write(struct.pack(">BQ", 0x1B, ns) if ns >= 0 else struct.pack(">BQ", 0x3B, -1 - ns))


def encode_cbor(message: Any) -> bytes:
    return cbor2.dumps(_with_numbers(message), default=_encode_time)


def decode_cbor(payload: bytes) -> Any:
    rest = io.BytesIO(payload)
    try:
        message = cbor2.load(rest)
    except cbor2.CBORDecodeError as error:
        raise Malformed(str(error)) from error
    if rest.read(1):
        raise Malformed("bytes after a message")
    return _with_names(message)


def encode_frame(kind: int, channel: int, payload: Any) -> bytes:
    if kind in CONTROL:
        payload = encode_cbor(payload)
        if len(payload) > COMPRESS_ABOVE_BYTES:
            packed = encode_varint(len(payload)) + zstandard.compress(payload)
            if len(packed) < len(payload):
                return bytes([kind | COMPRESSED]) + encode_varint(channel) + packed
    elif kind in NUMBERS:
        payload = encode_varint(payload)
    return bytes([kind]) + encode_varint(channel) + payload


def decode_frame(frame: bytes) -> Frame:
    if not frame:
        raise Malformed("an empty frame")
    kind = frame[0] & ~COMPRESSED
    channel, at = decode_varint(frame, 1)
    payload = frame[at:]
    if frame[0] & COMPRESSED:
        length, at = decode_varint(payload)
        if kind not in CONTROL or length > CONTROL_BYTES_MAX:
            raise Malformed("not to be unfolded")
        payload = unfold(payload[at:], length)
    if kind in CONTROL:
        return Frame(kind, channel, decode_cbor(payload))
    if kind in NUMBERS:
        number, end = decode_varint(payload)
        if end != len(payload):
            raise Malformed("bytes after a number")
        return Frame(kind, channel, number)
    if kind not in (BULK, CANCEL):
        raise Malformed(f"kind {kind}")
    return Frame(kind, channel, payload)


def unfold(packed: bytes, length: int, prefix: bytes = b"") -> bytes:
    """One zstd frame of exactly this many bytes; with a prefix, a delta against it (W28)."""
    decompressor = zstandard.ZstdDecompressor(**_dictionary(prefix))
    try:
        # One more than allowed, so that too much shows.
        content = decompressor.stream_reader(packed).read(length + 1)
    except zstandard.ZstdError as error:
        raise Malformed(str(error)) from error
    if len(content) != length:
        raise Malformed("of another length than was said")
    return content


def fold(content: bytes, prefix: bytes = b"") -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True, **_dictionary(prefix)).compress(content)


def _dictionary(prefix: bytes) -> dict:
    if not prefix:
        return {}
    return {"dict_data": zstandard.ZstdCompressionDict(prefix, dict_type=zstandard.DICT_TYPE_RAWCONTENT)}
