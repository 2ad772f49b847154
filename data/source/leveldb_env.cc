#include "data/source/leveldb_env.h"

#include <fcntl.h>

#include <cstring>

#include "core/base/unique_fd.h"
#include "data/source/read_at.h"

namespace doppio {
namespace {

leveldb::Status ReadError(const std::string& path) {
  return leveldb::Status::IOError(path, std::strerror(errno));
}

class UnmappedFile : public leveldb::RandomAccessFile {
 public:
  UnmappedFile(const std::string& path, int file) : path_(path), file_(file) {}

  leveldb::Status Read(uint64_t offset, size_t bytes, leveldb::Slice* result,
                       char* scratch) const override {
    const int64_t got = ReadAt(file_.get(), offset, bytes, scratch);
    if (got < 0) return ReadError(path_);
    *result = leveldb::Slice(scratch, static_cast<size_t>(got));
    return leveldb::Status::OK();
  }

 private:
  const std::string path_;
  const UniqueFd file_;
};

class UnmappedFiles : public leveldb::EnvWrapper {
 public:
  UnmappedFiles() : EnvWrapper(leveldb::Env::Default()) {}

  leveldb::Status NewRandomAccessFile(const std::string& path,
                                      leveldb::RandomAccessFile** file) override {
    const int opened = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    *file = opened < 0 ? nullptr : new UnmappedFile(path, opened);
    return opened < 0 ? ReadError(path) : leveldb::Status::OK();
  }
};

}  // namespace

leveldb::Env* UnmappedEnv() {
  static auto* const env = new UnmappedFiles;
  return env;
}

}  // namespace doppio
