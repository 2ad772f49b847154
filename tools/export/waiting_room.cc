#include "tools/export/waiting_room.h"

#include <unistd.h>

#include <filesystem>

#include "core/base/error.h"
#include "core/base/file.h"

namespace doppio {

WaitingRoom::WaitingRoom(const std::string& out)
    : path_(out + ".new." + std::to_string(getpid())), removed_({path_}) {
  std::error_code error;
  std::filesystem::create_directory(path_, error);
  if (error) throw FileError("cannot write '", out, "': ", error.message());
}

WaitingRoom::~WaitingRoom() { RemoveFolder(path_.c_str()); }

std::string WaitingRoom::Of(const std::string& out) const {
  return path_ + "/" + out.substr(DirName(out).size());
}

void WaitingRoom::Release(const std::string& out) const {
  WriteFileAtomically(out, [&](const std::string& temporary) {
    std::error_code error;
    std::filesystem::rename(Of(out), temporary, error);
    if (error) throw FileError("cannot write '", out, "': ", error.message());
  });
}

}  // namespace doppio
