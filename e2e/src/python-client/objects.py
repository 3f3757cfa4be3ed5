"""Objects: contents under their OID in one folder of a volume, and the URIs that name them. (docs/transfer.md)"""

import re
from typing import List, NamedTuple
from urllib.parse import unquote_to_bytes

from recipe import Content, oid_of
from volume import Volume

FOLDER = ".runnel-objects"
CHARACTERS_MAX = 4096
HINTS_MAX = 8
HINT_CHARACTERS_MAX = 1024
SIZE_MAX = 256 << 30

_OID = re.compile(r"[0-9a-f]{64}")
_SIZE = re.compile(r"0|[1-9][0-9]{0,15}")
_VALUE = re.compile(r"(?:[A-Za-z0-9\-._~!*'()]|%[0-9A-Fa-f]{2})+")
_HINT = re.compile(r"wss?://[^\s/?#@]+/[^\s/?#]+")


class Invalid(Exception):
    """No URI of an object."""


class Wrong(Exception):
    """Not what the URI names."""


class ObjectUri(NamedTuple):
    oid: str
    size_bytes: int
    hints: List[str]


def parse_uri(text: str) -> ObjectUri:
    scheme, colon, rest = text.partition(":")
    parts = rest.split("?")
    if (scheme, colon, len(parts)) != ("runnel", ":", 2) or len(text) > CHARACTERS_MAX or not _OID.fullmatch(parts[0]):
        raise Invalid(text)
    sizes: List[int] = []
    hints: List[str] = []
    for field in parts[1].split("&"):
        name, _, value = field.partition("=")
        if not _VALUE.fullmatch(value):
            raise Invalid(text)
        if name == "size" and _SIZE.fullmatch(value):
            sizes.append(int(value))
        elif name == "hint":
            hints.append(_hint(value))
        else:
            raise Invalid(text)
    if len(sizes) != 1 or sizes[0] > SIZE_MAX or len(hints) > HINTS_MAX:
        raise Invalid(text)
    return ObjectUri(parts[0], sizes[0], hints)


def _hint(value: str) -> str:
    try:
        hint = unquote_to_bytes(value).decode()
    except UnicodeDecodeError as error:
        raise Invalid(value) from error
    if len(hint) > HINT_CHARACTERS_MAX or not _HINT.fullmatch(hint) or not hint.isprintable():
        raise Invalid(value)
    return hint


def get(volume: Volume, uri: ObjectUri) -> Content:
    """The content, which is what the OID says, whoever put what under its name."""
    found = volume.find()[f"{FOLDER}/{uri.oid}"]
    content = volume.fetch(found)
    if oid_of(content.recipe).hex() != uri.oid or len(content.data) != uri.size_bytes:
        raise Wrong(uri.oid)
    return content
