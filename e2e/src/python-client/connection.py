"""One connection: channels of control items and bulk, credit and acknowledgements.
(PROTOCOL.md: Carrier, Channels, Errors, hello and login)

Single-threaded: whoever waits for something on a channel takes in all that comes meanwhile, for every channel.
"""

import base64
import hashlib
import hmac
import os
import secrets
from collections import deque
from pathlib import Path
from typing import Any, Deque, Dict, FrozenSet, Optional

import websocket

import frame

SUBPROTOCOL = "runnel.1"
CREDIT_BYTES = 4 << 20
CREDIT_STEP_BYTES = 1 << 20
BULK_FRAME_BYTES_MAX = 64 << 10
WAIT_S = 20


class Refused(Exception):
    """The server's answer is an error; `kind` is what to act on."""

    def __init__(self, kind: str, operation: str, sentence: str, detail: Dict[str, Any]):
        super().__init__(f"{operation}: {kind}: {sentence} {detail}")
        self.kind = kind
        self.detail = detail


class Closed(Exception):
    """The connection has been closed, with this code."""

    def __init__(self, code: int, reason: str):
        super().__init__(f"{code} {reason}")
        self.code = code


class Channel:
    def __init__(self, connection: "Connection", number: int):
        self.number = number
        self.items: Deque[Any] = deque()
        self.bulk = bytearray()
        self.end: Optional[list] = None
        self.may_send_bytes = CREDIT_BYTES
        self._connection = connection
        self._read_bytes = 0

    def item(self) -> Any:
        """The next item, or None when the server has ended its side without an error."""
        self._connection.take_in_until(lambda: self.items or self.end)
        if self.items:
            return self.items.popleft()
        self.result()
        return None

    def result(self) -> Any:
        """What the server ended its side with."""
        self._connection.take_in_until(lambda: self.end)
        if self.end[0] == 1:
            raise Refused(*self.end[1:])
        return self.end[1] if len(self.end) > 1 else None

    def read(self, length: int) -> bytes:
        """The next bytes of the bulk stream."""
        self._connection.take_in_until(lambda: len(self.bulk) >= length or self.end)
        if len(self.bulk) < length:
            self.result()
            raise frame.Malformed("the bulk stream is shorter than was announced")
        content = bytes(self.bulk[:length])
        del self.bulk[:length]
        self._read_bytes += length
        if self._read_bytes >= CREDIT_STEP_BYTES and not self.end:
            self._connection.send(frame.CREDIT, self.number, self._read_bytes)
            self._read_bytes = 0
        return content

    def say(self, item: Any) -> None:
        self._connection.send(frame.ITEM, self.number, item)

    def send_bulk(self, content: bytes) -> None:
        for at in range(0, len(content), BULK_FRAME_BYTES_MAX):
            part = content[at : at + BULK_FRAME_BYTES_MAX]
            self._connection.take_in_until(lambda: self.may_send_bytes >= len(part) or self.end)
            if self.end:
                return  # An error: nobody reads the rest.
            self.may_send_bytes -= len(part)
            self._connection.send(frame.BULK, self.number, part)

    def finish(self) -> None:
        self._connection.send(frame.END, self.number, [0])


def local_secret(host: str) -> str:
    """What the server at 127.0.0.1:PORT and this client know both. (W165)"""
    name = f"{host.replace(':', '-')}.secret"
    return (Path(os.environ["XDG_RUNTIME_DIR"]) / "runnel" / name).read_text().strip()


def proof_of(secret: str, by: str, client_nonce: str, server_nonce: str) -> str:
    said = f"runnel {by} {client_nonce} {server_nonce}".encode()
    digest = hmac.new(secret.encode(), said, hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


class Connection:
    def __init__(self, url: str, software: str = "Python client", hello: bool = True):
        """`url` is ws://HOST:PORT; what it has as a path is the volume's name and stays here."""
        self.url = url
        host = url.split("//", 1)[1].split("/", 1)[0]
        nonce = secrets.token_urlsafe(32)
        self.socket = websocket.create_connection(
            f"ws://{host}/wire",
            subprotocols=[SUBPROTOCOL],
            suppress_origin=True,
            timeout=WAIT_S,
            header=[f"Runnel-Nonce: {nonce}"],
        )
        server_nonce, proof = self.socket.getheaders()["runnel-proof"].split(".")
        secret = local_secret(host)
        if not hmac.compare_digest(proof, proof_of(secret, "server", nonce, server_nonce)):
            raise Closed(1000, "another server")
        self.proof = proof_of(secret, "client", nonce, server_nonce)
        self.sent_bytes = 0
        self.received_bytes = 0
        self._next_channel = 1
        self._bulk_bytes = 0
        self._channels: Dict[int, Channel] = {}
        self.features: FrozenSet[str] = frozenset()
        if hello:
            # Nothing here depends on a feature; a name that the server cannot know shows that it ignores such. (W178)
            greeting = {"protocol": 1, "software": software, "proof": self.proof, "features": ["example.python"]}
            answer = self.request(frame.CALL, "hello", greeting).result()
            self.features = frozenset(answer.get("features", []))

    def request(self, kind: int, operation: str, request: Dict[str, Any]) -> Channel:
        channel = self._channels[self._next_channel] = Channel(self, self._next_channel)
        self._next_channel += 2
        self.send(kind, channel.number, [operation, request])
        return channel

    def send(self, kind: int, channel: int, payload: Any) -> None:
        self.send_raw(frame.encode_frame(kind, channel, payload))

    def send_raw(self, message: bytes) -> None:
        self.sent_bytes += len(message)
        self.socket.send_binary(message)

    def close(self) -> None:
        self.socket.close()

    def take_in_until(self, is_there: Any) -> None:
        while not is_there():
            self._take_in()

    def _take_in(self) -> None:
        code, message = self.socket.recv_data()
        self.received_bytes += len(message)
        if code == websocket.ABNF.OPCODE_CLOSE:
            raise Closed(int.from_bytes(message[:2], "big"), message[2:].decode())
        kind, number, payload = frame.decode_frame(message)
        if kind == frame.ACK:
            return  # Only a sender that paces itself needs it.
        if kind in (frame.OPEN, frame.CALL):
            self.send(frame.END, number, [1, "Unsupported", payload[0], "This client serves nothing.", {}])
            return
        channel = self._channels.get(number)
        if kind == frame.BULK:
            self._bulk_bytes += len(payload)
            self.send(frame.ACK, 0, self._bulk_bytes)
            if channel:
                channel.bulk += payload
        elif channel is None:
            return  # It crossed the end.
        elif kind == frame.ITEM:
            channel.items.append(payload)
        elif kind == frame.CREDIT:
            channel.may_send_bytes += payload
        elif kind == frame.END:
            channel.end = payload
        elif kind == frame.CANCEL:
            channel.end = [1, "Interrupted", "", "The server has given up this channel.", {}]
