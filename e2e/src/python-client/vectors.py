"""Compares what this client makes of the golden vectors with what they say. Prints how many were compared, as JSON."""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any, Dict

import frame
import objects
import recipe

WORDS = "the river carries only what the other shore does not have yet and says so in one breath".split()
WORDS_PER_LINE = 12


def generator(seed: int):
    state = seed
    while True:
        state = (state * 1664525 + 1013904223) % (1 << 32)
        yield state >> 24


def words(seed: int, length: int) -> bytes:
    text = ""
    for count, byte in enumerate(generator(seed), start=1):
        if len(text) >= length:
            break
        text += WORDS[byte % len(WORDS)] + ("\n" if count % WORDS_PER_LINE == 0 else " ")
    return text[:length].encode()


def build_part(part: Dict[str, Any]) -> bytes:
    if "zeros" in part:
        content = bytes(part["zeros"])
    elif "random" in part:
        content = bytes(byte for byte, _ in zip(generator(part["random"]["seed"]), range(part["random"]["length"])))
    elif "words" in part:
        content = words(**part["words"])
    else:
        pattern, length = bytes.fromhex(part["repeat"]["hex"]), part["repeat"]["length"]
        content = (pattern * (length // len(pattern) + 1))[:length]
    return content[part.get("from") : part.get("to")]


class Comparison:
    def __init__(self) -> None:
        self.compared: Dict[str, int] = {}

    def same(self, what: str, name: Any, made: Any, wanted: Any) -> None:
        self.compared[what] = self.compared.get(what, 0) + 1
        if made != wanted:
            sys.exit(f"{what}, {name}: {made!r} is not {wanted!r}")


def value_of(told: Any) -> Any:
    """A vector's message as this client holds it: {"big"} is a time, {"hex"} a byte string."""
    if isinstance(told, dict) and set(told) == {"big"}:
        return frame.Time(int(told["big"]))
    if isinstance(told, dict) and set(told) == {"hex"}:
        return bytes.fromhex(told["hex"])
    if isinstance(told, dict):
        return {key: value_of(part) for key, part in told.items()}
    return [value_of(part) for part in told] if isinstance(told, list) else told


def as_decoded(value: Any) -> Any:
    if isinstance(value, frame.Time):
        return value.ns
    if isinstance(value, dict):
        return {key: as_decoded(part) for key, part in value.items()}
    return [as_decoded(part) for part in value] if isinstance(value, list) else value


def as_float(value: Any) -> Any:
    """The vectors write a whole number of 2^32 or more as a float64, which W2 leaves open."""
    if isinstance(value, dict):
        return {key: as_float(part) for key, part in value.items()}
    if isinstance(value, list):
        return [as_float(part) for part in value]
    return float(value) if isinstance(value, int) and value >= 1 << 32 else value


def compare_chunks(vectors: Dict[str, Any], comparison: Comparison) -> None:
    for case in vectors["cases"]:
        content = b"".join(build_part(part) for part in case["parts"])
        comparison.same("contents", case["name"], hashlib.sha256(content).hexdigest(), case["sha256"])
        comparison.same("cuts", case["name"], recipe.chunk_lengths(content, recipe.PRESETS[case["preset"]]), case["lengths"])


def compare_protocol(vectors: Dict[str, Any], comparison: Comparison) -> None:
    for case in vectors["varints"]:
        encoded = bytes.fromhex(case["hex"])
        comparison.same("varints", case["value"], frame.encode_varint(case["value"]), encoded)
        comparison.same("varints", case["hex"], frame.decode_varint(encoded), (case["value"], len(encoded)))
    for what, field in (("cbor", "value"), ("states", "packed")):
        for case in vectors[what]:
            value, encoded = value_of(case[field]), bytes.fromhex(case["hex"])
            comparison.same(what, case["hex"], frame.encode_cbor(as_float(value)), encoded)
            comparison.same(what, case["hex"], frame.decode_cbor(encoded), as_decoded(value))
    told = vectors["recipe"]
    chunks = [recipe.Descriptor(length, bytes.fromhex(digest)) for length, digest in told["chunks"]]
    comparison.same("recipes", "encoded", recipe.encode_recipe(chunks).hex(), told["hex"])
    comparison.same("recipes", "decoded", recipe.decode_recipe(bytes.fromhex(told["hex"])), chunks)
    comparison.same("recipes", "OID", recipe.oid_of(chunks).hex(), told["oid"])
    comparison.same("recipes", "OID of nothing", recipe.oid_of([]).hex(), told["emptyOid"])
    for case in vectors["frames"]:
        encoded = bytes.fromhex(case["hex"])
        payload = value_of(case["message"]) if "message" in case else bytes.fromhex(case["payload"])
        if case["kind"] in frame.NUMBERS:
            payload = frame.decode_varint(payload)[0]
        made = frame.encode_frame(case["kind"], case["channel"], as_float(payload) if "message" in case else payload)
        comparison.same("frames", case["name"], made.hex(), case["hex"])
        wanted = frame.Frame(case["kind"], case["channel"], as_decoded(payload))
        comparison.same("frames", case["name"], frame.decode_frame(encoded), wanted)


def compare_objects(vectors: Dict[str, Any], comparison: Comparison) -> None:
    for case in vectors["objects"]:
        content = b"".join(build_part(part) for part in case["parts"])
        made = recipe.recipe_of(content, recipe.FIXED if case["cut"] == "fixed" else recipe.PRESETS[0])
        comparison.same("objects", case["name"], (len(made), recipe.oid_of(made).hex()), (case["chunks"], case["oid"]))
    for case in vectors["uris"]:
        wanted = objects.ObjectUri(case["oid"], case["sizeBytes"], case["hints"])
        comparison.same("uris", case["uri"], objects.parse_uri(case["uri"]), wanted)
    for case in vectors["refused"]:
        try:
            made = str(objects.parse_uri(case["uri"]))
        except objects.Invalid:
            made = "refused"
        comparison.same("refused uris", case["why"], made, "refused")


def main(folder: Path) -> None:
    comparison = Comparison()
    compare_chunks(json.loads((folder / "chunks.json").read_text()), comparison)
    compare_protocol(json.loads((folder / "protocol-1.json").read_text()), comparison)
    compare_objects(json.loads((folder / "objects.json").read_text()), comparison)
    print(json.dumps(comparison.compared))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
