#!/bin/bash
# run-pjdfstest.sh DIR: pjdfstest, which checks what POSIX says of names, modes and owners. Each of its files counts as one test.
# PJDFSTEST_DIR names a built clone of pjdfstest (https://github.com/pjd/pjdfstest); without one nothing runs.
# PJDFSTESTS names folders or files of its tests/ (rename mkdir/00.t …). Needs root, since it changes owners and users.
set -u
cd "$1" || exit 2
: "${PJDFSTEST_DIR:=}"
if [ ! -x "$PJDFSTEST_DIR/pjdfstest" ]; then
  echo "-- PJDFSTEST_DIR names no built pjdfstest: nothing was run"
  echo "0 passed, 0 failed"
  exit 0
fi
# Users that it becomes may go through DIR.
mkdir pjdfstest && chmod 755 . pjdfstest && cd pjdfstest || exit 2
passed=0 failed=0
log=$(mktemp)
for name in ${PJDFSTESTS:-$(ls "$PJDFSTEST_DIR/tests")}; do
  [ "$name" = conf ] || [ "$name" = misc.sh ] && continue
  for file in $(find "$PJDFSTEST_DIR/tests/$name" -name '*.t' | sort); do
    if timeout -k 10 "${SECONDS_EACH:-300}" prove -q "$file" >"$log" 2>&1 </dev/null; then
      passed=$((passed + 1))
      echo "ok ${file#"$PJDFSTEST_DIR"/tests/}"
    else
      failed=$((failed + 1))
      echo "FAIL ${file#"$PJDFSTEST_DIR"/tests/}: $(sed -n 's/^ *Failed tests\{0,1\}: */tests /p' "$log" | head -1)"
    fi
  done
done
rm -f "$log"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
