// Makes databases of Caffe's Datums. One is written under a temporary name beside its own, and gets
// its own when it is whole: a reader sees all of it or nothing.
//
// A format is one file: it registers its opener under the name of the backend in data_param.
#ifndef DOPPIO_DATA_DATABASE_WRITER_H_
#define DOPPIO_DATA_DATABASE_WRITER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/registry.h"

namespace doppio {

using DatabaseRecord = std::pair<std::string, std::string>;  // key, value

// Of one format. Everything throws FileError.
class DatabaseFormat {
 public:
  virtual ~DatabaseFormat() = default;
  virtual void Write(const std::vector<DatabaseRecord>& records) = 0;
  virtual void Sync() = 0;  // all that was written is on the disk; nothing may follow
};
// Makes an empty database at `path`, where nothing is.
using DatabaseCreator = std::unique_ptr<DatabaseFormat> (*)(const std::string& path);
using DatabaseFormats = Registry<DatabaseCreator>;

class DatabaseWriter {
 public:
  // `backend` ("LMDB", "LEVELDB") is one of DatabaseFormats. FileError if something is at `path`.
  DatabaseWriter(const std::string& backend, const std::string& path);
  // Without Finish nothing is left of it.
  ~DatabaseWriter();
  DatabaseWriter(const DatabaseWriter&) = delete;
  DatabaseWriter& operator=(const DatabaseWriter&) = delete;

  // Keys differ; a reader gets the records in their order, whatever the order of writing.
  void Put(std::string key, std::string value);
  void Finish();

 private:
  void Flush();

  const std::string path_, temporary_;
  std::unique_ptr<DatabaseFormat> format_;  // null once finished
  std::vector<DatabaseRecord> waiting_;
  size_t waiting_bytes_ = 0;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_DATABASE_WRITER_H_
