#!/bin/bash
# run-xfstests.sh DIR: the kernel's xfstests, of the group generic/quick, those that need one mounted file system and no block device.
# XFSTESTS_DIR names a built clone of xfstests (https://git.kernel.org/pub/scm/fs/xfs/xfstests-dev.git); without one nothing runs.
# XFSTESTS names other tests (generic/001 …); SECONDS_EACH sets how long one may take (90). Needs root, and DIR to be a FUSE mount.
set -u
dir=$(realpath "$1") || exit 2
: "${XFSTESTS_DIR:=}"
each=${SECONDS_EACH:-90}
if [ ! -x "$XFSTESTS_DIR/ltp/fsstress" ]; then
  echo "-- XFSTESTS_DIR names no built xfstests: nothing was run"
  echo "0 passed, 0 failed"
  exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# xfstests mounts and unmounts what it tests. Nothing here knows how that is done, so DIR stays mounted, and df says "fuse" as xfstests knows it.
shim() { # NAME BODY
  printf '#!/bin/bash\n%s\n' "$2" >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}
mkdir "$work/bin" "$work/results"
source=$(findmnt -no SOURCE --target "$dir")
for program in mount umount; do
  shim "$program" "for word; do [[ \$word == '$dir' || \$word == '$source' ]] && exit 0; done; exec $(type -P "$program") \"\$@\""
done
# Other drives may have the same source.
mine="awk -v source='$source' -v dir='$dir' '\$1 != source || index(\$0, dir)'"
shim df "set -o pipefail; $(type -P df) \"\$@\" | $mine | sed 's/ fuse\\.[^ ]*/ fuse/'"
shim findmnt "set -o pipefail; $(type -P findmnt) \"\$@\" | $mine"
export PATH="$work/bin:$PATH"
export FSTYP=fuse TEST_DEV="$source" TEST_DIR="$dir" RESULT_BASE="$work/results" HOST_OPTIONS="$work/none"
touch "$HOST_OPTIONS"
cd "$XFSTESTS_DIR" || exit 2

# What xfstests would find out itself and not run, a second each.
needs='_require_(scratch|block_device|dm_|log_writes|loop|test_reflink|test_dedupe|quota|freeze|no_mount|idmapped|vfs|tmpfile)'
chosen() {
  if [ -n "${XFSTESTS:-}" ]; then echo "$XFSTESTS"; return; fi
  for number in $(awk '!/^#/ && / quick( |$)/ { print $1 }' tests/generic/group.list); do
    grep -qE "$needs" "tests/generic/$number" || echo "generic/$number"
  done
}

passed=0 failed=0
for name in $(chosen); do
  timeout -k 10 "$each" ./check "$name" >"$work/log" 2>&1 </dev/null
  code=$?
  if grep -q '\[not run\]' "$work/log"; then
    echo "-- $name was not run: $(sed -n 's/.*\[not run\] *//p' "$work/log" | head -1)"
  elif [ "$code" -eq 0 ]; then
    passed=$((passed + 1))
    echo "ok $name"
  else
    failed=$((failed + 1))
    [ "$code" -eq 124 ] && echo "FAIL $name did not end within $each s" || echo "FAIL $name"
    diff "tests/$name.out" "$work/results/$name.out.bad" 2>/dev/null | grep '^[<>]' | head -5 | sed 's/^/-- /'
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
