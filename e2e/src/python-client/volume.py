"""A volume as a client uses it: attach, find, fetch, make, save. (PROTOCOL.md: attach, Listing, Changing the tree, Saving, Reading)"""

import os
import secrets
import time
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import frame
import runs
from connection import Channel, Connection
from recipe import Content, Descriptor, oid_of, recipe_of

ROOT = 1
FILE = 0
FOLDER = 1


class State(NamedTuple):
    node: int
    type: int
    mode: int
    uid: int
    gid: int
    size_bytes: int
    mtime_ns: int
    ctime_ns: int
    nlink: int
    rdev: int
    target: str
    version: int
    seq: int
    xattr_seq: int = 0


class Saved(NamedTuple):
    result: Dict[str, Any]
    content: Content
    needed: int
    sent_bytes: int


class Volume:
    def __init__(self, connection: Connection, name: str):
        self.connection = connection
        self.name = name
        self._n = 0
        self._received = 0
        self.instance = secrets.token_hex(16)
        request = {"volume": name, "instance": self.instance, "wantsNodes": True}
        self.feed = connection.request(frame.OPEN, "attach", request)
        self.answer = self.feed.item()
        first, count = self.answer["nodes"]
        self._nodes = iter(range(first, first + count))

    def call(self, operation: str, **fields: Any) -> Channel:
        return self.connection.request(frame.CALL, operation, {"attachment": self.feed.number, **fields})

    def close(self) -> None:
        """Detaches first: after a connection that only breaks, changes wait for its lease to run out."""
        self.feed.finish()
        self.feed.result()
        self.connection.close()

    def change(self, operation: str, fields: Dict[str, Any], kind: int = frame.CALL) -> Channel:
        """An operation of this instance; who has waited for all of them so far says so by `all_received`."""
        self._n += 1
        number = {"n": self._n, "received": self._received, "timeNs": frame.Time(time.time_ns())}
        return self.connection.request(kind, operation, {"attachment": self.feed.number, **number, **fields})

    def all_received(self) -> None:
        self._received = self._n

    def find(self, folder: int = ROOT, predicate: Optional[list] = None, follow: bool = False) -> Dict[str, State]:
        """All below a folder, or what of it matches: path → state."""
        search = {} if predicate is None else {"predicate": predicate}
        channel = self.call("find", folder=folder, isDeep=True, follow=follow, **search)
        found: Dict[str, State] = {}
        path_of = {folder: ""}  # A folder stands in its parent's entries before its own come.
        while (said := channel.item()) is not None:
            for item in said if isinstance(said[0], list) else [said]:
                path = item[4] if predicate else path_of[item[0]]
                for name, packed in item[3]:
                    state = State(*packed)
                    entry = f"{path}/{name}" if path else name
                    found[entry] = state
                    path_of[state.node] = entry
        return found

    def fetch(self, state: State, held: Sequence[Content] = ()) -> Content:
        """A file's content; only what the held ones lack is sent."""
        version = [state.node, state.version]
        versions = [content.version for content in held]
        channel = self.call(
            "fetch", version=version, held=versions, hasRecipe=False, offset=0, length=state.size_bytes
        )
        recipe: List[Descriptor] = []
        chunks = {chunk: data for content in held for chunk, data in content.chunks()}
        raw = bytearray(state.size_bytes)
        while (item := channel.item()) is not None:
            if item[0] in ("v", "p"):
                recipe += runs.join_parts(item[-1] or [], held)
            elif item[0] == "d":
                _, first, count, encoding, *lengths = item
                run = runs.decode(channel, encoding, *lengths, held)
                chunks.update(runs.checked(run, recipe[first : first + count]))
            elif item[0] == "raw":
                _, offset, encoding, *lengths = item
                run = runs.decode(channel, encoding, *lengths)
                raw[offset : offset + len(run)] = run
        data = b"".join(chunks[chunk] for chunk in recipe) if recipe else bytes(raw)
        return Content(version, data, recipe or recipe_of(data))

    def make(self, folder: int, name: str, node: Optional[int] = None) -> int:
        """An empty file; its node."""
        fields = self.file_fields(folder, name)
        result = self.change("make", fields if node is None else {**fields, "node": node}).result()
        self.all_received()
        return result["node"]

    def make_small(self, folder: int, name: str, data: bytes) -> Saved:
        """A file and its content in one round trip: the write names the make, and holds all its items."""
        before = self.connection.sent_bytes
        recipe = recipe_of(data)
        fields = self.file_fields(folder, name)
        making = self.change("make", fields)
        run = [["d", "raw", len(data), data]] if data else []
        items = {"items": [*run, ["e", oid_of(recipe)]], "after": [self._n]}
        writing = self.change("write", {**self._write_fields(fields["node"], data), **items})
        making.result()
        result = writing.result()
        self.all_received()
        content = Content([result["node"], result["version"]], data, recipe)
        return Saved(result, content, 0, self.connection.sent_bytes - before)

    def put(self, folder: str, files: Dict[str, bytes]) -> List[Dict[str, Any]]:
        """Small files into a folder of the root, which is made if it is not there. Nothing is waited for before all is said: what
        depends on another operation names its result."""
        making = self.change("make", self.file_fields(ROOT, folder, FOLDER))
        in_folder = -self._n
        asked = [making]
        for name, data in files.items():
            asked.append(self.change("make", self.file_fields(in_folder, name)))
            run = [["d", "raw", len(data), data]] if data else []
            fields = self._write_fields(-self._n, data)
            asked.append(self.change("write", {**fields, "items": [*run, ["e", oid_of(recipe_of(data))]]}))
        results = [channel.result() for channel in asked]
        self.all_received()
        return results

    def file_fields(self, folder: int, name: str, type: int = FILE) -> Dict[str, Any]:
        owner = {"uid": os.getuid(), "gid": os.getgid()}
        times = {"mtimeNs": frame.Time(time.time_ns())}
        mode = 0o755 if type == FOLDER else 0o644
        attributes = {"type": type, "mode": mode, **owner, **times, "rdev": 0, "target": ""}
        return {"folder": folder, "name": name, "node": next(self._nodes), "attributes": attributes}

    def save(self, node: int, data: bytes, base: Optional[Content] = None, by_digest: bool = False) -> Saved:
        """A file's new content. Chunks of the base are named instead of sent. With `by_digest` the others are too, in the hope
        that the volume has them somewhere; the server says which it needs."""
        before = self.connection.sent_bytes
        recipe = recipe_of(data)
        channel = self.change("write", self._write_fields(node, data, base), frame.OPEN)
        try:
            result, needed = self._write(channel, recipe, data, base, by_digest)
        finally:
            channel.finish()
        self.all_received()
        content = Content([result["node"], result["version"]], data, recipe)
        return Saved(result, content, needed, self.connection.sent_bytes - before)

    def _write_fields(self, node: int, data: bytes, base: Optional[Content] = None) -> Dict[str, Any]:
        return {
            "node": node,
            "base": base.version[1] if base else 0,
            "sizeBytes": len(data),
            "attributes": {"mtimeNs": frame.Time(time.time_ns())},
            "isResumed": False,
        }

    def _write(
        self, channel: Channel, recipe: List[Descriptor], data: bytes, base: Optional[Content], by_digest: bool
    ) -> Tuple[Dict[str, Any], int]:
        """The result, and how many of the items the server needed the bytes of."""
        spans = runs.plan(recipe, base)
        for span in spans:
            runs.say_span(channel, span, recipe, data, base, by_digest)
        channel.say(["e", oid_of(recipe)])
        needed = 0
        while (answer := channel.item()) is not None:
            if answer[0] == "accepted":
                continue
            for index in answer[1]:
                needed += 1
                runs.say_needed(channel, index, spans[index], recipe, data)
            channel.say(["e", oid_of(recipe)])
        return channel.result(), needed
