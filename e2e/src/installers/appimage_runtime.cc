// Stands in for the runtime of an AppImage, which is released where tests do not fetch from: finds the squashfs behind
// its own ELF as that does, unpacks it by unsquashfs, runs AppRun with APPDIR, APPIMAGE and ARGV0, and removes it
// when that has ended. It mounts nothing: the real one does so only when it is not asked to extract.
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

/** Runs a program to its end. @return its exit code */
int Run(const std::vector<std::string>& words) {
  const pid_t pid = fork();
  if (pid == 0) {
    std::vector<char*> args;
    for (const std::string& word : words) args.push_back(const_cast<char*>(word.c_str()));
    args.push_back(nullptr);
    execvp(args[0], args.data());
    _exit(127);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/** Bytes of the ELF at the head of a file. */
unsigned long ElfBytes(const char* path) {
  FILE* file = fopen(path, "rb");
  Elf64_Ehdr head;
  Elf64_Shdr section;
  if (file == nullptr || fread(&head, sizeof head, 1, file) != 1) return 0;
  const unsigned long end = head.e_shoff + static_cast<unsigned long>(head.e_shentsize) * head.e_shnum;
  fseek(file, static_cast<long>(end - head.e_shentsize), SEEK_SET);
  const bool is_read = fread(&section, sizeof section, 1, file) == 1;
  fclose(file);
  return is_read ? std::max(end, static_cast<unsigned long>(section.sh_offset + section.sh_size)) : 0;
}

}  // namespace

int main(int count, char** words) {
  char self[4096] = {};
  const char* place = getenv("TMPDIR");
  std::string folder = std::string(place == nullptr ? P_tmpdir : place) + "/appimage_extracted_XXXXXX";
  if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0 || mkdtemp(folder.data()) == nullptr) return 127;
  const std::string root = folder + "/root";
  const std::string offset = std::to_string(ElfBytes(self));
  if (Run({"unsquashfs", "-q", "-n", "-no-xattrs", "-d", root, "-o", offset, self}) != 0) return 127;
  setenv("APPDIR", root.c_str(), 1);
  setenv("APPIMAGE", self, 1);
  setenv("ARGV0", words[0], 1);
  std::vector<std::string> run{root + "/AppRun"};
  for (int i = 1; i < count; i++) {
    if (strcmp(words[i], "--appimage-extract-and-run") != 0) run.emplace_back(words[i]);
  }
  const int code = Run(run);
  Run({"rm", "-rf", folder});
  return code;
}
