#include "data/source/database_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/file.h"

namespace doppio {
namespace {

// Flush after this many records or bytes.
constexpr size_t kRecords = 1000;
constexpr size_t kBytes = 64 << 20;

std::string WithoutSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

void Remove(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

void CheckAbsent(const std::string& path) {
  CheckFolderOf(path);
  if (!FileExists(path)) return;
  throw FileError("'", path, "' already exists; remove it, or choose another name");
}

}  // namespace

std::string DatabaseWriter::UnfinishedFolder(const std::string& path) {
  return WithoutSlash(path) + ".tmp." + std::to_string(getpid());
}

DatabaseWriter::DatabaseWriter(const std::string& backend, const std::string& path)
    : path_(WithoutSlash(path)),
      staging_folder_(UnfinishedFolder(path)),
      temporary_(staging_folder_) {
  CheckAbsent(path_);
  Remove(staging_folder_);
  try {
    Open(backend, DatabaseMode::kNew);
  } catch (...) {
    Remove(staging_folder_);
    throw;
  }
}

DatabaseWriter::DatabaseWriter(const std::string& backend, const std::string& path,
                               const std::string& settings)
    : path_(WithoutSlash(path)),
      staging_folder_(path_ + ".tmp"),
      temporary_(staging_folder_ + "/database") {
  CheckAbsent(path_);
  TakeSettings(settings);
  Open(backend, DatabaseMode::kDurable);
  found_ = format_->Contents();
}

DatabaseWriter::~DatabaseWriter() {
  format_.reset();
  if (!finished_ && kept() == 0) Remove(staging_folder_);
}

void DatabaseWriter::Open(const std::string& backend, DatabaseMode mode) {
  const DatabaseCreator* create = DatabaseFormats::Get().Find(backend);
  DOPPIO_CHECK(create != nullptr, "no database format " + backend);
  format_ = (*create)(temporary_, mode);
}

void DatabaseWriter::TakeSettings(const std::string& settings) {
  const std::string file = staging_folder_ + "/settings";
  std::error_code error;
  std::filesystem::create_directory(staging_folder_, error);
  if (error) throw FileError("cannot create the folder '", staging_folder_, "': ", error.message());
  lock_ = UniqueFd(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!lock_.open()) throw FileError("cannot write '", file, "': ", std::strerror(errno));
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    throw FileError("'", staging_folder_, "' is being written by another process");
  }
  if (!FileExists(temporary_)) {  // a writer killed in this function leaves no records
    const auto bytes = static_cast<ssize_t>(settings.size());
    if (ftruncate(lock_.get(), 0) != 0 ||
        pwrite(lock_.get(), settings.data(), settings.size(), 0) != bytes ||
        fsync(lock_.get()) != 0) {
      throw FileError("cannot write '", file, "': ", std::strerror(errno));
    }
  } else if (ReadListedFile(file) != settings) {
    throw FileError(
        "'", staging_folder_,
        "' holds a database that was started from other images or with other flags (see '", file,
        "'); repeat that command, or remove '", staging_folder_, "' to start again");
  }
}

void DatabaseWriter::Put(std::string key, std::string value) {
  pending_bytes_ += key.size() + value.size();
  pending_.emplace_back(std::move(key), std::move(value));
  if (pending_.size() >= kRecords || pending_bytes_ >= kBytes) Flush();
}

void DatabaseWriter::Flush() {
  if (!pending_.empty()) format_->Write(pending_);
  flushed_ += static_cast<int64_t>(pending_.size());
  pending_.clear();
  pending_bytes_ = 0;
}

void DatabaseWriter::Complete() {
  if (format_ == nullptr) return;
  Flush();
  format_->Sync();
  format_.reset();
}

void DatabaseWriter::Finish() {
  Complete();
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    throw FileError("cannot write '", path_, "': ", std::strerror(errno));
  }
  finished_ = true;
  Remove(staging_folder_);
}

}  // namespace doppio
