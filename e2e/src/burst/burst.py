# Works in a folder as fast as it can: makes, writes, renames and removes files and folders. Says how many changes it made.
#
#     python3 burst.py FOLDER CHANGES SEED
import os
import random
import sys

folder, changes, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
chance = random.Random(seed)
FOLDERS = 24
folders = [f"{folder}/burst{at}" for at in range(FOLDERS)]
for at in folders:
    os.makedirs(at, exist_ok=True)
files = []
done = FOLDERS
made = 0


def fresh():
    global made
    made += 1
    return f"{chance.choice(folders)}/file {made}.é"


def text():
    return f"{seed} {done} {chance.random()}\n" * chance.randrange(1, 60)


def write(path, how):
    with open(path, how, encoding="utf-8") as file:
        file.write(text())


def take():
    at = chance.randrange(len(files))
    files[at], files[-1] = files[-1], files[at]
    return files.pop()


while done < changes:
    what = chance.random()
    if len(files) < 100 or what < 0.4:
        path = fresh()
        write(path, "w")
        files.append(path)
    elif what < 0.55:
        write(chance.choice(files), "w")
    elif what < 0.65:
        write(chance.choice(files), "a")
    elif what < 0.75:
        path = take()
        other = fresh()
        os.rename(path, other)
        files.append(other)
    elif what < 0.8:
        # Over another file.
        path, other = take(), take()
        os.rename(path, other)
        files.append(other)
    elif what < 0.99:
        os.remove(take())
    elif what < 0.995:
        at = chance.randrange(FOLDERS)
        old, new = folders[at], f"{folder}/burst{at} {done}"
        os.rename(old, new)
        folders[at] = new
        files = [new + path[len(old) :] if path.startswith(old + "/") else path for path in files]
    else:
        # A tree that is there for a moment, and one that stays.
        lost, kept = f"{chance.choice(folders)}/lost {done}", f"{chance.choice(folders)}/kept {done}/below"
        os.makedirs(f"{lost}/below")
        write(f"{lost}/below/file", "w")
        os.remove(f"{lost}/below/file")
        os.rmdir(f"{lost}/below")
        os.rmdir(lost)
        os.makedirs(kept)
        path = f"{kept}/file"
        write(path, "w")
        files.append(path)
        done += 7
    done += 1
print(done)
