#include "data/database_writer.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/file.h"

namespace doppio {
namespace {

// A write to the disk has this much.
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

}  // namespace

DatabaseWriter::DatabaseWriter(const std::string& backend, const std::string& path)
    : path_(WithoutSlash(path)), temporary_(path_ + ".tmp." + std::to_string(getpid())) {
  const DatabaseCreator* create = DatabaseFormats::Get().Find(backend);
  DOPPIO_CHECK(create != nullptr, "no database format " + backend);
  if (FileExists(path_)) {
    throw FileError("'" + path_ + "' exists already; remove it, or choose another name");
  }
  Remove(temporary_);
  try {
    format_ = (*create)(temporary_);
  } catch (...) {
    Remove(temporary_);
    throw;
  }
}

DatabaseWriter::~DatabaseWriter() {
  if (format_ == nullptr) return;
  format_.reset();
  Remove(temporary_);
}

void DatabaseWriter::Put(std::string key, std::string value) {
  waiting_bytes_ += key.size() + value.size();
  waiting_.emplace_back(std::move(key), std::move(value));
  if (waiting_.size() >= kRecords || waiting_bytes_ >= kBytes) Flush();
}

void DatabaseWriter::Flush() {
  if (!waiting_.empty()) format_->Write(waiting_);
  waiting_.clear();
  waiting_bytes_ = 0;
}

void DatabaseWriter::Finish() {
  Flush();
  format_->Sync();
  format_.reset();
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const std::string reason = std::strerror(errno);
    Remove(temporary_);
    throw FileError("cannot write '" + path_ + "': " + reason);
  }
}

}  // namespace doppio
