"""Works in one folder of a drive for a while: creates, renames, opens, its own names and those of others. Prints [[operation, from, to], …] as JSON, in
milliseconds of the monotonic clock, which all processes of a machine share. `busy-folder.py FOLDER NAME OTHERS SECONDS`"""

import json
import os
import sys
import time

folder, name, others, seconds = sys.argv[1:]
os.chdir(folder)
took = []


def timed(operation, call):
    started = time.monotonic() * 1000
    try:
        call()
    except FileNotFoundError:
        operation = "absent"
    took.append([operation, started, time.monotonic() * 1000])


until = time.monotonic() + float(seconds)
count = 0
while time.monotonic() < until:
    count += 1
    mine, moved, theirs = f"{name}-{count}", f"{name}-moved-{count % 5}", f"{others}-moved-{count % 5}"
    timed("create", lambda: os.close(os.open(mine, os.O_CREAT | os.O_EXCL | os.O_WRONLY)))
    timed("rename", lambda: os.rename(mine, moved))
    timed("open", lambda: os.close(os.open(theirs, os.O_RDONLY)))
print(json.dumps(took))
