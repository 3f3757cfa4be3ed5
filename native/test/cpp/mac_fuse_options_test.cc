// The options that macFUSE is mounted with, and where FSKit mounts nothing.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "src/drive/fuse/darwin/mount_options.h"

namespace runnel::drive {
namespace {

using Options = std::vector<std::string>;

TEST_CASE("a drive of macFUSE says whose it is, and asks for FSKit, everybody or no writes where that is wanted") {
  const Options usual = {"default_permissions", "fsname=runnel:a, b", "volname=a, b", "daemon_timeout=600"};
  for (int which = 0; which < 8; ++which) {
    const bool is_root = (which & 1) != 0;
    const bool is_read_only = (which & 2) != 0;
    const bool uses_fskit = (which & 4) != 0;
    Options wanted = usual;
    if (is_root) wanted.push_back("allow_other");
    if (is_read_only) wanted.push_back("rdonly");
    if (uses_fskit) wanted.push_back("backend=fskit");
    CHECK(MacFuseOptions({"runnel:a, b", is_root, is_read_only, uses_fskit}) == wanted);
  }
}

TEST_CASE("a drive of macFUSE is no local volume, which Spotlight would read whole") {
  for (const char* source : {"runnel:local", "local", "", ":"}) {
    const Options options = MacFuseOptions({source, true, true, true});
    CHECK(std::find(options.begin(), options.end(), "local") == options.end());
  }
  CHECK(MacFuseOptions({"local", false, false, false})[2] == "volname=local");
}

TEST_CASE("FSKit mounts below /Volumes and nowhere else, which is said before it is tried") {
  for (const char* there : {"/Volumes/docs", "/Volumes/a/b", "/Volumes/a b"}) CHECK(WhyNotByFsKit(there) == "");
  for (const char* elsewhere :
       {"/Users/ada/docs", "/Volumes", "/Volumes/", "/Volumes2/docs", "/Users/Volumes/docs", "Volumes/docs", "/", ""}) {
    CHECK(WhyNotByFsKit(elsewhere) == "With FSKit a drive is mounted below /Volumes: choose a folder there.");
  }
}

}  // namespace
}  // namespace runnel::drive
