#!/bin/bash
# run-file-stress.sh DIR: Debian's stress-ng (one stressor after the other, with --verify), fio with verification, dbench, postmark and bonnie++.
# Needs root to install what is missing. SECONDS_EACH sets how long each stressor runs (3).
set -u
cd "$1" || exit 2
mkdir file-stress && cd file-stress || exit 2
each=${SECONDS_EACH:-3}
log=$(mktemp)
passed=0 failed=0

packages=(stress-ng fio dbench postmark bonnie++)
dpkg-query -W "${packages[@]}" >"$log" 2>&1 || {
  export DEBIAN_FRONTEND=noninteractive
  apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${packages[@]}" >"$log" 2>&1 ||
    { echo "apt-get could not install ${packages[*]}: see $log"; echo "0 passed, 1 failed"; exit 1; }
}

check() { # NAME COMMAND...
  local name=$1 began=$SECONDS
  shift
  if timeout -k 10 180 "$@" >"$log" 2>&1 </dev/null; then
    passed=$((passed + 1))
    echo "ok $name ($((SECONDS - began)) s)"
  else
    # stress-ng: 3 and 4 say that this system cannot do it.
    local code=$?
    if [[ $name == stress-* && ($code == 3 || $code == 4) ]]; then echo "ok $name was skipped"; return; fi
    failed=$((failed + 1))
    echo "FAIL $name (code $code)"
    grep -iE 'fail|error|verify|bad' "$log" | head -5 | sed 's/^/-- /'
  fi
}

stressors="access chdir chmod chown copy-file dentry dir dirdeep dirmany fallocate fcntl filename flock fpunch fsize fstat getdent hdd inotify io iomix lease link lockf lockofd mknod open readahead rename seek sendfile symlink sync-file touch utime xattr"
for stressor in $stressors; do
  check "stress-$stressor" stress-ng --temp-path "$PWD" "--$stressor" 2 --timeout "$each" --verify --hdd-bytes 16m --iomix-bytes 16m --fallocate-bytes 16m --seek-size 16m
done

verified=(--directory="$PWD" --size=32m --verify=crc32c --verify_fatal=1 --output-format=terse)
check fio-random-writes fio --name=random --rw=randwrite --bsrange=512-64k --bs_unaligned=1 --numjobs=2 "${verified[@]}"
check fio-sequential-writes fio --name=sequential --rw=write --bs=128k --end_fsync=1 "${verified[@]}"
check fio-mmap fio --name=mapped --ioengine=mmap --rw=randwrite --bs=4k "${verified[@]}"
check fio-synced fio --name=synced --rw=randrw --bs=4k --fsync=64 --io_size=4m "${verified[@]}"
check fio-reopened fio --name=reopened --rw=write --bs=64k --file_service_type=sequential --nrfiles=64 --openfiles=4 "${verified[@]}"
check dbench dbench -t 10 -D "$PWD" 2
check postmark bash -c 'printf "set location %s\nset number 500\nset transactions 1000\nset size 500 50000\nset subdirectories 10\nrun\nquit\n" "$PWD" | postmark'
check bonnie++ bonnie++ -d "$PWD" -u root -s 64M -r 32M -n 1:4096:16:4 -f -q
rm -f "$log"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
