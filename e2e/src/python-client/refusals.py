"""What a server must not accept, each on a connection of its own. Prints what it was answered with: the kind of an error (and the
rule that it names), or the code that the connection was closed with."""

import hashlib
import json
import sys
from typing import Any, Callable, Dict, List
from urllib.parse import urlsplit

import websocket

import frame
from connection import Channel, Closed, Connection, Refused
from recipe import oid_of, recipe_of
from volume import ROOT, Volume

HELLO = b"hello"
RIGHT_RUN = ["d", "raw", len(HELLO), HELLO]
RIGHT_END = ["e", oid_of(recipe_of(HELLO))]


def answer_of(work: Callable[[], Any]) -> str:
    try:
        return f"accepted: {work()}"
    except Refused as refused:
        rule = refused.detail.get("rule")
        return f"{refused.kind} {rule}" if rule else refused.kind
    except Closed as closed:
        return f"closed {closed.code}"
    except websocket.WebSocketBadStatusException as refused:
        return f"HTTP {refused.status_code}"


class Attempts:
    def __init__(self, url: str):
        self.url = url
        self.volume_name = urlsplit(url).path.lstrip("/")

    def attach(self) -> Volume:
        return Volume(Connection(self.url), self.volume_name)

    def handshake(self, **options: Any) -> None:
        fitting = {"subprotocols": ["runnel.1"], "suppress_origin": True, **options}
        websocket.create_connection(f"ws://{urlsplit(self.url).netloc}/wire", **fitting)

    def say(self, *messages: bytes) -> None:
        """Sends these instead of frames and waits for what comes of it."""
        connection = self.attach().connection
        for message in messages:
            connection.send_raw(message)
        connection.take_in_until(lambda: False)

    def say_text(self) -> None:
        connection = Connection(self.url)
        connection.socket.send("hello")
        connection.take_in_until(lambda: False)

    def request(self, operation: str, fields: Any, hello: bool = True) -> Any:
        return Connection(self.url, hello=hello).request(frame.CALL, operation, fields).result()

    def unknown(self, operation: str) -> Any:
        """Asks for an operation that no server knows, and for a known one on the same connection. (W179)"""
        volume = self.attach()
        try:
            return volume.call(operation).result()
        finally:
            volume.call("space").result()

    def find(self, **fields: Any) -> Any:
        return self.attach().call("find", **fields).result()

    def open_write(self, volume: Volume, **fields: Any) -> Channel:
        node = volume.make(ROOT, f"refused {volume.instance}")
        request = {"node": node, "base": 0, "sizeBytes": len(HELLO), "attributes": {}, "isResumed": False}
        return volume.change("write", {**request, **fields}, frame.OPEN)

    def write(self, items: List[Any], **fields: Any) -> Any:
        channel = self.open_write(self.attach(), **fields)
        for item in items:
            channel.say(item)
        return channel.item() or channel.result()

    def too_much_bulk(self) -> None:
        volume = self.attach()
        number = frame.encode_varint(self.open_write(volume).number)
        for _ in range(65):
            volume.connection.send_raw(bytes([frame.BULK]) + number + bytes(65536))
        volume.connection.take_in_until(lambda: False)


def refusals(attempts: Attempts) -> Dict[str, str]:
    say, request, find, write = attempts.say, attempts.request, attempts.find, attempts.write
    listing = {"folder": ROOT, "isDeep": False, "follow": False}
    hello = {"protocol": 1, "software": "Python client"}
    space = frame.encode_cbor(["space", {}])
    cases: Dict[str, Callable[[], Any]] = {
        "a web page": lambda: attempts.handshake(suppress_origin=False, origin="http://example.org"),
        "no subprotocol": lambda: attempts.handshake(subprotocols=[]),
        "text": attempts.say_text,
        "an unknown kind of frame": lambda: say(bytes([9, 1])),
        "nothing": lambda: say(b""),
        "a number without an end": lambda: say(bytes([frame.ITEM]) + b"\x80" * 9),
        "too much bulk in a frame": lambda: say(bytes([frame.BULK, 3]) + bytes(65537)),
        "too large a message": lambda: say(bytes([frame.CALL, 5]) + bytes(2 << 20)),
        "no CBOR": lambda: say(bytes([frame.CALL, 5, 0xFF])),
        "bytes after CBOR": lambda: say(bytes([frame.CALL, 5]) + space + b"\0"),
        "a compressed giant": lambda: say(bytes([frame.CALL | frame.COMPRESSED, 5]) + frame.encode_varint(2 << 20)),
        "compressed from another length": lambda: say(
            bytes([frame.CALL | frame.COMPRESSED, 5]) + frame.encode_varint(len(space) + 1) + frame.fold(space)
        ),
        "the server's channel": lambda: say(bytes([frame.CALL, 4]) + space),
        "a channel that was never opened": lambda: say(frame.encode_frame(frame.ITEM, 99, ["ack", 1])),
        "bulk where none is read": lambda: say(bytes([frame.BULK, 3]) + bytes(1)),
        "more bulk than credit": attempts.too_much_bulk,
        "an acknowledgement of nothing": lambda: say(frame.encode_frame(frame.ACK, 0, 1)),
        "no hello": lambda: request("space", {"attachment": 1}, hello=False),
        "no proof": lambda: request("hello", hello, hello=False),
        "another protocol": lambda: request("hello", {**hello, "protocol": 2}, hello=False),
        "an unknown operation": lambda: attempts.unknown("levitate"),
        "an unknown operation before hello": lambda: request("levitate", {}, hello=False),
        "a feature that is no name": lambda: request("hello", {**hello, "features": ["é"]}, hello=False),
        "too many features": lambda: request("hello", {**hello, "features": ["a"] * 65}, hello=False),
        "no such volume": lambda: Volume(Connection(attempts.url), "no such volume"),
        "no such attachment": lambda: request("find", {**listing, "attachment": 99}),
        "a field left out": lambda: find(folder=ROOT),
        "a field of another form": lambda: find(**{**listing, "folder": "root"}),
        "no such folder": lambda: find(**{**listing, "folder": (1 << 53) - 1}),
        "a name with a slash": lambda: attempts.attach().make(ROOT, "a/b"),
        "a node id that was not given out": lambda: attempts.attach().make(ROOT, "a", node=(1 << 53) - 1),
        "an unknown item": lambda: write([["levitate"]]),
        "another length than announced": lambda: write([["d", "raw", len(HELLO) + 1, HELLO], RIGHT_END]),
        "another size than announced": lambda: write([RIGHT_RUN, RIGHT_END], sizeBytes=len(HELLO) + 1),
        "another content than announced": lambda: write([RIGHT_RUN, ["e", hashlib.sha256(HELLO).digest()]]),
        "no zstd": lambda: write([["d", "zstd", len(HELLO), HELLO], RIGHT_END]),
        "chunks of a version that never was": lambda: write([["c", [ROOT, 1], 0, 1], RIGHT_END]),
        "after what was never asked for": lambda: write([RIGHT_RUN, RIGHT_END], after=[1 << 20]),
        "a write to nothing": lambda: write([RIGHT_RUN, RIGHT_END], node=(1 << 53) - 1),
    }
    return {name: answer_of(work) for name, work in cases.items()}


if __name__ == "__main__":
    print(json.dumps(refusals(Attempts(sys.argv[1]))))
