// A name that the server's file system cannot hold is refused when a program asks for it, and keeps nothing else from
// being saved. No such file system can be mounted everywhere: the server runs on one that is made to refuse ":" by a
// library in front of the system calls.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { readdirSync, writeFileSync } from "node:fs";
import { Sandbox, mustRun, onMount, serve } from "../src/harness/index.ts";
import type { Device } from "../src/harness/index.ts";

const REFUSING = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long a[6];
  for (int i = 0; i < 6; ++i) a[i] = va_arg(list, long);
  va_end(list);
  if (number == SYS_openat2 && (((struct open_how*)a[2])->flags & O_CREAT) && strchr((const char*)a[1], ':') != NULL) {
    errno = EINVAL;
    return -1;
  }
  long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}`;

let sandbox: Sandbox;
let device: Device;
let drive: string;

beforeEach(async () => {
  sandbox = new Sandbox();
  writeFileSync(sandbox.path("refusing.c"), REFUSING);
  await mustRun("cc", ["-shared", "-fPIC", "-o", sandbox.path("refusing.so"), sandbox.path("refusing.c"), "-ldl"]);
  const env = { ...sandbox.env, LD_PRELOAD: sandbox.path("refusing.so") };
  const options = { volumes: { docs: sandbox.makeFolder("served") }, data: sandbox.makeFolder("data"), env };
  const server = await serve(options);
  device = sandbox.device();
  drive = sandbox.makeFolder("drive");
  await device.mount(`${server.url}/docs`, drive);
}, 60_000);

afterEach(() => sandbox.cleanup(), 120_000);

/** Answer of six commands; mv has words of its own for EINVAL. */
const EINVAL = "Invalid argument\n";
const REFUSED = `${EINVAL.repeat(3)}of itself\n${EINVAL.repeat(2)}`;

test("a file, a folder, a link and a new name with a colon are Invalid argument; all else is saved", async () => {
  const script = `cd "$1"; echo ok > ok
for command in 'mkdir a:b' 'ln -s x a:b' 'ln ok a:b' 'mv ok a:b' 'mkfifo a:b' 'set -C; echo x > a:b'; do
  if (eval "$command") 2> said; then echo "$command was done"; else grep -o 'Invalid argument\\|of itself' said; fi
done
rm said; mkdir fine; mv ok fine/; ls -R`;
  expect(await onMount(script, [drive])).toBe(`${REFUSED}.:\nfine\n\n./fine:\nok\n`);
  await device.flush(drive, { up: true });
  expect(readdirSync(sandbox.path("served", "fine"))).toEqual(["ok"]);
  expect(
    await onMount(
      'set +o pipefail; (echo x > "$1/c:d") 2>&1 | grep -o "Invalid argument"; touch "$1/e:" 2>&1 | grep -o "Invalid argument"',
      [drive],
    ),
  ).toBe(EINVAL.repeat(2));
  expect(await device.status()).toMatchObject({ mounts: [{ unsentFiles: 0, problems: [] }] });
  await onMount('echo after > "$1/after"', [drive]);
  await device.flush(drive, { up: true });
  expect(readdirSync(sandbox.path("served")).toSorted()).toEqual([".runnel-store", "after", "fine"]);
}, 60_000);
