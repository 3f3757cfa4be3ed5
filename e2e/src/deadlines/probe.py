"""Programs that wait for a drive: each prepares, then performs one system call that reaches one FUSE operation, and times it itself.

`probe.py --list` prints all probes. Else jobs are read as one JSON line, [{id, probe, folder, phase}]; every job is a process of its own.
"ready" is printed when all are prepared; each further line of stdin is a phase, whose jobs then act; what came of each is printed as one JSON
line. Children end with their standard input; what is left of them when it is over is killed.

Each job's folder holds: held (its bytes have been read), unseen (never read), link (a symlink), sub/{one,two}, empty/. A warm probe stands in it from
the beginning, a cold one goes there as part of what is timed: nothing of it has been looked up before.
"""

import errno
import json
import os
import select
import signal
import sys
import time

PROBES = {}
BYTES = b"dirty bytes\n"


def probe(operation, kind, variant="", cold=False):
    """A generator: up to its first yield it prepares, then comes the one call that is timed."""

    def enter(run):
        name = f"{operation} {variant}".strip() + (" (cold)" if cold else "")
        assert name not in PROBES, name
        PROBES[name] = {"operation": operation, "kind": kind, "isCold": cold, "run": run}
        return run

    return enter


def opened(path, flags):
    return os.open(path, flags | os.O_CLOEXEC, 0o644)


def dirty(path):
    handle = opened(path, os.O_WRONLY)
    os.pwrite(handle, BYTES, 0)
    return handle


@probe("lookup", "metadata")
@probe("lookup", "metadata", cold=True)
def _():
    yield
    os.stat("sub/one")


@probe("lookup", "metadata", "of an absent name")
def _():
    yield
    try:
        os.stat("absent")
    except FileNotFoundError:
        pass


@probe("getattr", "metadata")
def _():
    node = opened("held", os.O_PATH)
    yield
    os.fstat(node)


@probe("getattr", "native", "of an open file")
def _():
    handle = opened("held", os.O_RDONLY)
    yield
    os.fstat(handle)


@probe("readlink", "metadata")
@probe("readlink", "metadata", cold=True)
def _():
    yield
    os.readlink("link")


@probe("opendir", "metadata")
@probe("opendir", "metadata", cold=True)
def _():
    yield
    opened("sub", os.O_RDONLY | os.O_DIRECTORY)


@probe("readdir", "metadata")
@probe("readdir", "metadata", cold=True)
def _():
    yield
    os.listdir("sub")


@probe("readdirplus", "metadata")
@probe("readdirplus", "metadata", cold=True)
def _():
    yield
    for entry in os.scandir("sub"):
        entry.stat()


@probe("statfs", "space")
def _():
    os.statvfs(".")
    yield
    os.statvfs(".")


@probe("getxattr", "metadata")
def _():
    os.setxattr("held", "user.old", b"value")
    os.getxattr("held", "user.old")
    yield
    os.getxattr("held", "user.old")


@probe("listxattr", "metadata")
def _():
    os.setxattr("held", "user.old", b"value")
    os.listxattr("held")
    yield
    os.listxattr("held")


@probe("open", "metadata")
def _():
    yield
    opened("held", os.O_RDONLY)


@probe("open", "absent", "of what is not held")
@probe("open", "absent", cold=True)
def _():
    yield
    opened("unseen", os.O_RDONLY)


@probe("open", "edit", "for writing")
def _():
    yield
    opened("held", os.O_WRONLY)


@probe("read", "native")
def _():
    handle = opened("held", os.O_RDONLY)
    yield
    assert os.pread(handle, 100, 0)


@probe("read", "fetch", "of what is not held")
def _():
    handle = opened("unseen", os.O_RDONLY)
    yield
    assert os.pread(handle, 100, 0)


@probe("write", "native")
def _():
    handle = opened("held", os.O_WRONLY)
    yield
    os.pwrite(handle, BYTES, 0)


@probe("fallocate", "native")
def _():
    handle = opened("held", os.O_WRONLY)
    yield
    try:
        os.posix_fallocate(handle, 0, 100)
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:
            raise


@probe("lseek", "native")
def _():
    handle = opened("held", os.O_RDONLY)
    yield
    os.lseek(handle, 0, os.SEEK_DATA)


@probe("copy_file_range", "native")
def _():
    source, target = opened("held", os.O_RDONLY), opened("sub/one", os.O_WRONLY)
    yield
    os.copy_file_range(source, target, 100)


@probe("create", "create")
@probe("create", "create", cold=True)
def _():
    yield
    opened("sub/new", os.O_WRONLY | os.O_CREAT)


@probe("create", "change", "exclusively")
def _():
    yield
    opened("new", os.O_WRONLY | os.O_CREAT | os.O_EXCL)


@probe("mknod", "change")
def _():
    yield
    os.mkfifo("fifo")


@probe("mkdir", "change")
@probe("mkdir", "change", cold=True)
def _():
    yield
    os.mkdir("sub/new")


@probe("symlink", "change")
def _():
    yield
    os.symlink("held", "symlink")


@probe("link", "change")
def _():
    yield
    os.link("held", "second")


@probe("unlink", "change")
@probe("unlink", "change", cold=True)
def _():
    yield
    os.unlink("sub/one")


@probe("rmdir", "change")
def _():
    yield
    os.rmdir("empty")


@probe("rename", "change")
@probe("rename", "change", cold=True)
def _():
    yield
    os.rename("sub/one", "sub/moved")


@probe("setattr", "change", "of the mode")
def _():
    yield
    os.chmod("held", 0o600)


@probe("setattr", "change", "of the size")
def _():
    yield
    os.truncate("held", 10)


@probe("setattr", "native", "of an open file's size")
def _():
    handle = opened("held", os.O_WRONLY)
    yield
    os.ftruncate(handle, 10)


@probe("setxattr", "change")
def _():
    yield
    os.setxattr("held", "user.new", b"value")


@probe("removexattr", "change")
def _():
    os.setxattr("held", "user.old", b"value")
    yield
    os.removexattr("held", "user.old")


@probe("flush", "commit")
def _():
    handle = dirty("held")
    yield
    os.close(handle)


@probe("flush", "native", "of a clean file")
def _():
    handle = opened("held", os.O_WRONLY)
    yield
    os.close(handle)


@probe("fsync", "commit")
def _():
    handle = dirty("held")
    yield
    os.fsync(handle)


@probe("fsyncdir", "own")
def _():
    folder = opened("sub", os.O_RDONLY | os.O_DIRECTORY)
    yield
    os.fsync(folder)


def wait_for_line(pipe):
    """False when it was closed instead."""
    return os.read(pipe, 1) != b""


def act(job, results, go):
    probe_of = PROBES[job["probe"]]
    work = probe_of["run"]()
    output = {"id": job["id"]}
    try:
        if not probe_of["isCold"]:
            os.chdir(job["folder"])
        next(work)
    except OSError as error:
        output["unprepared"] = f"{error.strerror}: {error.filename}"
    os.write(results, (json.dumps({"id": job["id"], "isPrepared": True}) + "\n").encode())
    if not wait_for_line(go):
        os._exit(0)
    if "unprepared" not in output:
        started = time.monotonic()
        code = 0
        try:
            if probe_of["isCold"]:
                os.chdir(job["folder"])
            next(work, None)
        except OSError as error:
            code = error.errno
        output["ms"] = (time.monotonic() - started) * 1000
        output["error"] = errno.errorcode.get(code, "") if code else ""
    os.write(results, (json.dumps(output) + "\n").encode())
    wait_for_line(go)  # what it holds open stays so until all is over
    signal.raise_signal(signal.SIGKILL)


def main():
    if sys.argv[1:] == ["--list"]:
        keys = ("operation", "kind", "isCold")
        print(json.dumps([{"name": name, **{key: each[key] for key in keys}} for name, each in PROBES.items()]))
        return
    jobs = json.loads(sys.stdin.readline())
    results_out, results_in = os.pipe()
    gates = {}
    children = []
    for job in jobs:
        go_out, go_in = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(go_in)
            for gate in gates.values():
                for other in gate:
                    os.close(other)
            act(job, results_in, go_out)
            os._exit(0)
        os.close(go_out)
        gates.setdefault(job["phase"], []).append(go_in)
        children.append(child)
    waiting = len(jobs)
    buffered = b""
    while True:
        readable, _, _ = select.select([results_out, 0], [], [])
        if 0 in readable:
            phases = os.read(0, 100).decode().split()
            if not phases:
                break
            for phase in phases:
                for gate in gates.get(phase, []):
                    os.write(gate, b"g")
        if results_out in readable:
            buffered += os.read(results_out, 65536)
            *lines, buffered = buffered.split(b"\n")
            for line in lines:
                if b"isPrepared" not in line:
                    print(line.decode(), flush=True)
                    continue
                waiting -= 1
                if waiting == 0:
                    print("ready", flush=True)
    for child in children:
        os.kill(child, signal.SIGKILL)


main()
