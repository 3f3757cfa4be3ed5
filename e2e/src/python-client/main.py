"""The client's command line; each command prints one JSON object.

    main.py find URL [GLOB]             all of a volume, or what has such a name
    main.py fetch URL PATH FILE [HELD]  brings a file into FILE; HELD is another path, fetched first, that may help
    main.py save URL PATH FILE [hope]   makes PATH what FILE is; with "hope" new chunks are named first, not sent
    main.py put URL FOLDER DIR          small files of DIR into FOLDER, which need not be there, in one round trip
    main.py get URI FILE                brings what was put under a URI into FILE, from the volume of its first hint
    main.py watch URL NAME              follows all and holds the lease while another instance makes NAME
"""

import json
import sys
import time
from pathlib import Path
from typing import Any, Dict, List
from urllib.parse import urlsplit

import objects
from connection import Connection
from runs import INSIDE_BYTES_MAX
from volume import ROOT, Volume


def attach(url: str) -> Volume:
    return Volume(Connection(url), urlsplit(url).path.lstrip("/"))


def find(volume: Volume, glob: str = "*") -> Dict[str, Any]:
    found = volume.find(predicate=None if glob == "*" else ["name", glob])
    return {"entries": {path: state._asdict() for path, state in found.items()}}


def fetch(volume: Volume, path: str, file: str, held: str = "") -> Dict[str, Any]:
    found = volume.find()
    have = [volume.fetch(found[held])] if held else []
    before = volume.connection.received_bytes
    content = volume.fetch(found[path], have)
    Path(file).write_bytes(content.data)
    return {"receivedBytes": volume.connection.received_bytes - before, "chunks": len(content.recipe)}


def save(volume: Volume, path: str, file: str, hope: str = "") -> Dict[str, Any]:
    found = volume.find()
    data = Path(file).read_bytes()
    if path in found:
        saved = volume.save(found[path].node, data, volume.fetch(found[path]), bool(hope))
    else:
        above, _, name = path.rpartition("/")
        folder = found[above].node if above else ROOT
        if len(data) <= INSIDE_BYTES_MAX:
            saved = volume.make_small(folder, name, data)
        else:
            saved = volume.save(volume.make(folder, name), data, by_digest=bool(hope))
    return {"result": saved.result, "sentBytes": saved.sent_bytes, "needed": saved.needed}


def put(volume: Volume, folder: str, directory: str) -> Dict[str, Any]:
    files = {path.name: path.read_bytes() for path in sorted(Path(directory).iterdir())}
    began = time.monotonic()
    results = volume.put(folder, files)
    return {"results": results, "tookS": time.monotonic() - began}


def get(uri: str, file: str) -> None:
    asked = objects.parse_uri(uri)
    volume = attach(asked.hints[0])
    content = objects.get(volume, asked)
    volume.close()
    Path(file).write_bytes(content.data)
    print(json.dumps({"oid": asked.oid, "size": len(content.data)}))


def watch(volume: Volume, name: str) -> Dict[str, Any]:
    volume.find(follow=True)
    volume.feed.say(["current", 1])
    while volume.feed.item()[:2] != ["current", 1]:
        pass
    author = Volume(Connection(volume.connection.url), volume.name)
    began = time.monotonic()
    making = author.change("make", author.file_fields(ROOT, name))
    told: List[str] = []
    while name not in told:
        what, *rest = volume.feed.item()
        if what == "changes":
            told += [bound[1] for _, bindings, _, _ in rest[0] for bound in bindings]
            volume.feed.say(["ack", rest[0][-1][0]])
    node = making.result()["node"]
    author.close()
    return {"told": told, "node": node, "tookS": time.monotonic() - began}


def main(command: str, url: str, *rest: str) -> None:
    if command == "get":
        return get(url, *rest)
    volume = attach(url)
    print(json.dumps({"find": find, "fetch": fetch, "save": save, "put": put, "watch": watch}[command](volume, *rest)))
    volume.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
