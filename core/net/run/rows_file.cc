#include "core/net/run/rows_file.h"

#include <unistd.h>

#include <cstdio>
#include <map>
#include <mutex>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"

namespace doppio {
namespace {

// The files of this process. Nets that write the same file do not know of each other, so they find
// it here by its path.
struct OpenFiles {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<RowsFile>> by_path;
};

OpenFiles& Files() {
  static auto* const files = new OpenFiles;
  return *files;
}

}  // namespace

std::shared_ptr<RowsFile> RowsFile::At(const std::string& path, const std::string& owner) {
  OpenFiles& files = Files();
  const std::lock_guard<std::mutex> lock(files.mutex);
  std::weak_ptr<RowsFile>& known = files.by_path[path];
  std::shared_ptr<RowsFile> file = known.lock();
  if (file == nullptr) {
    file.reset(new RowsFile(path, owner));
    known = file;
  }
  if (file->owner_ != owner) {
    throw UserError({}, "'", path, "' is written by ", file->owner_,
                    " already; give each layer and each phase its own file");
  }
  return file;
}

RowsFile::RowsFile(const std::string& path, const std::string& owner)
    : path_(path),
      owner_(owner),
      part_path_(path + ".part." + std::to_string(getpid())),
      writer_(part_path_) {}

void RowsFile::AddRows(const std::string& name, const Shape& shape, const float* data) {
  try {
    writer_.AddRows(name, shape, data);
  } catch (...) {
    failed_ = true;
    throw;
  }
}

RowsFile::~RowsFile() {
  try {
    writer_.Close();
    if (!failed_) {
      WriteFileAtomically(path_, [this](const std::string& temporary) {
        if (rename(part_path_.c_str(), temporary.c_str()) != 0) {
          throw FileError("cannot rename '", part_path_, "'");
        }
      });
    }
  } catch (const Error& e) {
    LOG(ERROR) << e.what();
    failed_ = true;
  }
  if (failed_) unlink(part_path_.c_str());
}

}  // namespace doppio
