# A program that uses the NFS drive through libnfs (Debian: libnfs13, which libnfs-utils brings): system calls by path,
# one a line as JSON. A client of other people's, so that no mistake is made twice.
import base64, ctypes, json, os, sys

lib = ctypes.CDLL("libnfs.so.13")
P, U64 = ctypes.c_void_p, ctypes.c_uint64
STAT = ["dev", "ino", "mode", "nlink", "uid", "gid", "rdev", "size", "blksize", "blocks", "atime", "mtime", "ctime",
        "atime_nsec", "mtime_nsec", "ctime_nsec", "used"]


class Stat(ctypes.Structure):
    _fields_ = [(name, U64) for name in STAT]


class Url(ctypes.Structure):
    _fields_ = [("server", ctypes.c_char_p), ("path", ctypes.c_char_p), ("file", ctypes.c_char_p)]


class Dirent(ctypes.Structure):
    _fields_ = [("next", P), ("name", ctypes.c_char_p)]


class Timeval(ctypes.Structure):
    _fields_ = [("sec", ctypes.c_long), ("usec", ctypes.c_long)]


lib.nfs_init_context.restype = P
lib.nfs_parse_url_dir.restype = ctypes.POINTER(Url)
lib.nfs_readdir.restype = ctypes.POINTER(Dirent)
lib.nfs_get_error.restype = ctypes.c_char_p


class Failure(Exception):
    pass


def call(name, *args):
    result = getattr(lib, name)(P(context), *args)
    if result < 0:
        raise Failure(-result)
    return result


def mount(url):
    context = lib.nfs_init_context()
    # A server that has gone is not waited for.
    lib.nfs_set_autoreconnect(P(context), 0)
    parsed = lib.nfs_parse_url_dir(P(context), url.encode())
    if not parsed:
        raise SystemExit("no such url")
    if lib.nfs_mount(P(context), parsed.contents.server, parsed.contents.path) != 0:
        raise SystemExit(lib.nfs_get_error(P(context)).decode())
    return context


def plain(stat):
    ns = lambda name: str(getattr(stat, name) * 10**9 + getattr(stat, name + "_nsec"))
    return {"ino": stat.ino, "mode": stat.mode, "nlink": stat.nlink, "uid": stat.uid, "gid": stat.gid,
            "rdev": stat.rdev, "sizeBytes": stat.size, "allocatedBytes": stat.used,
            "atimeNs": ns("atime"), "mtimeNs": ns("mtime"), "ctimeNs": ns("ctime")}


def stat_by(name, *args):
    stat = Stat()
    call(name, *args, ctypes.byref(stat))
    return plain(stat)


path = lambda text: ("/" + text).encode()
files = {}
appending = set()


def open_file(at, flags, mode=0o644):
    handle = P()
    call("nfs_open2", path(at), flags, mode, ctypes.byref(handle))
    files[len(files) + 3] = handle
    if flags & os.O_APPEND:
        appending.add(len(files) + 2)
    return len(files) + 2


def read(fd, offset, length):
    buffer = ctypes.create_string_buffer(length)
    got = call("nfs_pread", files[fd], U64(offset), U64(length), buffer)
    return base64.b64encode(buffer.raw[:got]).decode()


def write(fd, offset, data):
    raw = base64.b64decode(data)
    if fd in appending:
        # It asks where the end is, and writes there.
        return call("nfs_write", files[fd], U64(len(raw)), raw)
    return call("nfs_pwrite", files[fd], U64(offset), U64(len(raw)), raw)


def readdir(at):
    folder = P()
    call("nfs_opendir", path(at), ctypes.byref(folder))
    names = []
    while entry := lib.nfs_readdir(P(context), folder):
        name = entry.contents.name.decode()
        if name not in (".", ".."):
            names.append(name)
    lib.nfs_closedir(P(context), folder)
    return sorted(names)


def readlink(at):
    buffer = ctypes.create_string_buffer(4096)
    call("nfs_readlink", path(at), buffer, 4096)
    return buffer.value.decode()


def utimes(at, atime, mtime):
    times = (Timeval * 2)(*(Timeval(int(ns) // 10**9, int(ns) % 10**9 // 1000) for ns in (atime, mtime)))
    call("nfs_utimes", path(at), times)


calls = {
    "stat": lambda at: stat_by("nfs_stat64", path(at)),
    "lstat": lambda at: stat_by("nfs_lstat64", path(at)),
    "fstat": lambda fd: stat_by("nfs_fstat64", files[fd]),
    "readdir": readdir,
    "open": open_file,
    "read": read,
    "write": write,
    "fsync": lambda fd: call("nfs_fsync", files[fd]),
    "close": lambda fd: call("nfs_close", files[fd]),
    "ftruncate": lambda fd, size: call("nfs_ftruncate", files[fd], U64(size)),
    "truncate": lambda at, size: call("nfs_truncate", path(at), U64(size)),
    "chmod": lambda at, mode: call("nfs_chmod", path(at), mode),
    "utimes": utimes,
    "mkdir": lambda at: call("nfs_mkdir", path(at)),
    "symlink": lambda target, at: call("nfs_symlink", target.encode(), path(at)),
    "readlink": readlink,
    "link": lambda at, to: call("nfs_link", path(at), path(to)),
    "unlink": lambda at: call("nfs_unlink", path(at)),
    "rmdir": lambda at: call("nfs_rmdir", path(at)),
    "rename": lambda at, to: call("nfs_rename", path(at), path(to)),
}

if len(sys.argv) > 2:
    os.setuid(int(sys.argv[2]))
context = mount(sys.argv[1])
print(json.dumps({"result": "ready"}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    try:
        said = {"result": calls[asked["method"]](*asked["args"])}
    except Failure as failure:
        said = {"errno": failure.args[0]}
    print(json.dumps(said), flush=True)
