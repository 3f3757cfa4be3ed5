# Toolchain: compiles for RUNNEL_TARGET, a platform and processor in Node's words, with the compiler, C library and C++
# library of zig, whose path is RUNNEL_ZIG. Given by build-all.mjs.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RUNNEL_ZIG RUNNEL_TARGET)

# The oldest glibc that Node 22 and 24 run on.
set(triple_linux-x64 x86_64-linux-gnu.2.28)
set(triple_linux-arm64 aarch64-linux-gnu.2.28)
set(triple_win32-x64 x86_64-windows-gnu)
# macOS 11: O_NOFOLLOW_ANY. Node 24 wants 13.5.
set(triple_darwin-arm64 aarch64-macos.11.0)
set(triple_darwin-x64 x86_64-macos.11.0)
set(triple "${triple_${RUNNEL_TARGET}}")
if(NOT triple)
  message(FATAL_ERROR "There is no target ${RUNNEL_TARGET}.")
endif()

if(RUNNEL_TARGET MATCHES "^win32")
  set(CMAKE_SYSTEM_NAME Windows)
elseif(RUNNEL_TARGET MATCHES "^darwin")
  set(CMAKE_SYSTEM_NAME Darwin)
else()
  set(CMAKE_SYSTEM_NAME Linux)
endif()
if(RUNNEL_TARGET MATCHES "arm64$")
  set(CMAKE_SYSTEM_PROCESSOR aarch64)
else()
  set(CMAKE_SYSTEM_PROCESSOR x86_64)
endif()

set(CMAKE_C_COMPILER "${RUNNEL_ZIG}" cc -target ${triple})
set(CMAKE_CXX_COMPILER "${RUNNEL_ZIG}" c++ -target ${triple})
# zig is one program for all, and CMake takes an archiver without arguments.
set(archiver "${CMAKE_BINARY_DIR}/zig-ar")
file(WRITE "${archiver}" "#!/bin/sh\nexec '${RUNNEL_ZIG}' ar \"$@\"\n")
file(CHMOD "${archiver}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
set(CMAKE_AR "${archiver}" CACHE FILEPATH "archiver")
set(CMAKE_RANLIB "true" CACHE FILEPATH "zig's archiver makes the index")
set(CMAKE_INSTALL_NAME_TOOL "true" CACHE FILEPATH "nothing is installed")
# What CMake finds out about a compiler, it finds out without linking.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
