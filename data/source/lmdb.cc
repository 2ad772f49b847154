// Reads LMDB databases of Caffe Datums. Takes no lock, so several jobs can share a database, even
// on a read-only file system. The places of all records in the file are collected when the database
// is opened. Reading is therefore thread-safe and possible in any order.
#include "core/base/error.h"
#include "core/base/file.h"
#include "data/record/source.h"
#include "data/source/database_facts.h"
#include "data/source/datum.h"
#include "data/source/lmdb_file.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

// Returns the data file of `path`, which is a database's folder or the file itself.
std::string DataFileOf(const std::string& path) {
  if (!FileExists(path)) throw FileError("no LMDB database at '", path, "': there is no such file");
  const bool folder = FileExists(path + "/.");
  if (folder && !FileExists(path + "/data.mdb")) {
    throw FileError(
        "'", path, "' is not an LMDB database: it has no data.mdb",
        FileExists(path + "/CURRENT") ? "; it looks like a LevelDB, so set backend: LEVELDB" : "");
  }
  const std::string file = folder ? path + "/data.mdb" : path;
  RefusePipe(file, "an LMDB database");
  if (FileBytes(file) == 0) {
    throw FileError("'", file, "' is not an LMDB file: it is empty");
  }
  return file;
}

std::unique_ptr<LmdbFile> OpenFile(const std::string& path) {
  const std::string file = DataFileOf(path);
  try {
    return std::make_unique<LmdbFile>(file);
  } catch (const FileError& e) {
    throw FileError("cannot open LMDB database '", path, "': ", e.message());
  }
}

class LmdbSource : public Source {
 public:
  LmdbSource(const DataParameter& parameter, Phase)
      : path_(parameter.source()), file_(OpenFile(path_)) {
    if (size() == 0) throw FileError("LMDB database '", path_, "' is empty");
  }

  int64_t size() const override { return file_->size(); }

  void Read(int64_t index, Record* record) const override {
    thread_local std::string value;
    file_->ReadValue(index, &value);
    ReadDatum(value.data(), value.size(), record);
  }

  // The name is for the error of a record, whose key may be unreadable, too.
  std::string Name(int64_t index) const override {
    std::string key = std::to_string(index);
    try {
      key = "'" + file_->Key(index) + "'";
    } catch (const FileError&) {
    }
    return "record " + key + " of '" + path_ + "'";
  }
  SourceFacts facts() const override { return FactsOfDatabase(*this, file_->Key(0), path_); }

 private:
  const std::string path_;
  const std::unique_ptr<LmdbFile> file_;
};

DOPPIO_REGISTER(Sources, "LMDB", {&OpenAs<LmdbSource>});

}  // namespace
}  // namespace doppio
