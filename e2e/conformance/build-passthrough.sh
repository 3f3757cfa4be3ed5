#!/bin/bash
# build-passthrough.sh PROGRAM: builds libfuse's example passthrough_hp, of the version that this Debian has, as PROGRAM.
set -euo pipefail
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir -p lists/partial
# The machine's own package sources, asked for sources.
sed 's/^Types: .*/Types: deb-src/' /etc/apt/sources.list.d/debian.sources >src.sources
options=(-o "Dir::Etc::SourceList=$folder/src.sources" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$folder/lists" -o APT::Sandbox::User=root)
apt-get "${options[@]}" update >&2
apt-get "${options[@]}" source --download-only fuse3 >&2
tar xf fuse3_*.orig.tar.xz
# What its build system would find out on Linux.
printf '#define HAVE_%s 1\n' FALLOCATE POSIX_FALLOCATE SETXATTR UTIMENSAT >fuse_config.h
c++ -std=c++17 -O2 -w -D_FILE_OFFSET_BITS=64 -DFUSE_USE_VERSION=312 -include fuse_config.h -I. $(pkg-config --cflags fuse3) \
  fuse*/example/passthrough_hp.cc -o "$program" $(pkg-config --libs fuse3) -pthread
