#include "tools/cli/new_files.h"

#include <algorithm>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/file.h"

namespace doppio {

namespace fs = std::filesystem;

NewFiles::NewFiles(const std::string& folder)
    : folder_(folder.empty() || EndsWith(folder, "/") ? folder : folder + "/") {
  for (fs::path path = DirName(folder_); !path.empty() && !FileExists(path.string());
       path = path.parent_path()) {
    made_.push_back(path.string());
  }
  std::reverse(made_.begin(), made_.end());
}

NewFiles::~NewFiles() {
  std::error_code ignored;
  for (auto path = made_.rbegin(); path != made_.rend(); ++path) fs::remove(*path, ignored);
}

void NewFiles::Write(const std::string& name, const std::string& content) {
  std::error_code error;
  if (!folder_.empty()) fs::create_directories(folder_, error);
  if (error) throw FileError("cannot create the folder '" + folder_ + "': " + error.message());
  WriteFileAtomically(folder_ + name, content);
  made_.push_back(folder_ + name);
}

}  // namespace doppio
