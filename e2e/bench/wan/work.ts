// The work of a program or a person over a WAN. On a mount it is a script that works there; rsync does it on a copy,
// and brings the copy up to date.
import { FILES_A_FOLDER, type Sizes } from "./material.ts";

export interface Work {
  what: string;
  /** The client knows nothing yet: the script begins with the mount. */
  isCold: boolean;
  /** $1 the mount, $2 the material, $3 an empty folder of the local disk. */
  onMount: string;
  /** $1 the local copy, $2 the material, $3 an empty folder, $4 the served folder as rsync names it. */
  byRsync: string;
}

const READS = 7;
const READ_BYTES = 4096;
const PUSH = 'rsync -az --delete "$1/" "$4/"';
/** Builds the tree: reads each source, writes its object, and joins them at the end. */
const BUILD = (count: number, at: string): string =>
  `cd "${at}"; find tree -name 'source-*.c' | sort | sed -n 1,${count}p | while read -r f; do cat "$f" >/dev/null; gzip -c "$f" >"\${f%.c}.o"; done; find tree -name '*.o' -print0 | sort -z | xargs -0 cat >program`;
const COPY = (at: string): string =>
  `cd "$2/new"; find . -type d -print0 | (cd "${at}"; mkdir new; cd new; xargs -0 mkdir -p); find . -type f -print0 | xargs -0 -P 64 -n 8 cp --parents -t "${at}/new"`;
const EDIT = (at: string): string =>
  `cd "$2/after/tree"; diff -rq . "$2/before/tree" | sed 's/^Files //; s/ and .*//' >"$3/changed" || true; while read -r f; do cp "$f" "${at}/tree/$f"; done <"$3/changed"`;
const ONE_BYTE = (at: string, bytes: number): string =>
  `printf x | dd of="${at}/large.bin" bs=1 seek=${Math.floor(bytes / 2)} conv=notrunc status=none`;

/** Reads at places all over a file, each by a program of its own. */
const HERE_AND_THERE = (bytes: number): string =>
  Array.from({ length: READS }, (_, read) => Math.floor(((read + 0.5) * bytes) / READS / READ_BYTES))
    .map((place) => `dd if="$1/large.bin" bs=${READ_BYTES} skip=${place} count=1 status=none >/dev/null`)
    .join("; ");
const COMPARE = (folders: number, at: string): string =>
  `for p in $(seq 0 ${folders - 1}); do diff -rq "${at}/tree/part-$p" "${at}/new/part-$p" >/dev/null || [ $? = 1 ]; done`;

export function workOf({ files, largeBytes, built, edited, compared }: Sizes): Work[] {
  const large = `${largeBytes / 1e6} MB`;
  const work = (what: string, script: (at: string) => string): Work => ({
    what,
    isCold: false,
    onMount: script("$1"),
    byRsync: `(${script("$1")}); ${PUSH}`,
  });
  return [
    work("document edit", (at) => `cp "$2/after/document.xml" "${at}/document.xml"`),
    work(`${large}: one byte`, (at) => ONE_BYTE(at, largeBytes)),
    work(`${large}: 100 bytes in front`, (at) => `cp "$2/after/large.bin" "${at}/large.bin"`),
    work(`source edit, ${edited} files`, EDIT),
    work(`build, ${built} files`, (at) => BUILD(built, at)),
    work(`${files} new small files`, COPY),
    {
      what: `mount, find in ${files} files`,
      isCold: true,
      onMount: `find "$1/tree" -name '*7.c' >/dev/null`,
      byRsync: `rsync -r --list-only "$4/tree/" | grep -c 7.c >/dev/null`,
    },
    {
      what: `${READS} reads of 4 KiB of ${large} never read`,
      isCold: false,
      onMount: HERE_AND_THERE(largeBytes),
      byRsync: 'rsync -az "$4/large.bin" "$3/"',
    },
    {
      what: `grep in ${files} files`,
      isCold: false,
      onMount: `grep -r nothing-like-it "$1/tree" || [ $? = 1 ]`,
      byRsync: `rsync -az "$4/tree/" "$3/tree/"; grep -r nothing-like-it "$3/tree" || [ $? = 1 ]`,
    },
    {
      what: `diff of ${files} files`,
      isCold: false,
      onMount: `diff -rq --exclude='*.o' "$1/tree" "$2/after/tree"`,
      byRsync: `rsync -azcn --delete --exclude='*.o' "$2/after/tree/" "$4/tree/"`,
    },
    {
      what: `mount, diff of two trees, ${Math.min(files, compared * FILES_A_FOLDER)} files each`,
      isCold: true,
      onMount: COMPARE(compared, "$1"),
      byRsync: `rsync -az "$4/tree" "$4/new" "$3/"; ${COMPARE(compared, "$3")}`,
    },
    {
      what: `remove ${files} files`,
      isCold: false,
      onMount: `rm -r "$1/new"`,
      byRsync: `rm -r "$1/new"; ${PUSH}`,
    },
  ];
}
