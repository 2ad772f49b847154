// Makes databases of Caffe's Datums. One is written under a temporary name beside its own, and gets
// its own when it is whole: a reader sees all of it or nothing. A writer that can be resumed keeps
// what it has when it is killed, and the next one goes on behind that.
//
// A format is one file: it registers its opener under the name of the backend in data_param.
#ifndef DOPPIO_DATA_SOURCE_DATABASE_WRITER_H_
#define DOPPIO_DATA_SOURCE_DATABASE_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/registry.h"

namespace doppio {

using DatabaseRecord = std::pair<std::string, std::string>;  // key, value

struct DatabaseContents {
  int64_t records = 0;
  std::string last_key;  // the largest
};

enum class DatabaseMode {
  kNew,      // nothing is at the path; only Sync brings records to the disk
  kDurable,  // perhaps one is there already; what Write was given is on the disk when it returns
};

// Of one format. Everything throws FileError.
class DatabaseFormat {
 public:
  virtual ~DatabaseFormat() = default;
  virtual void Write(const std::vector<DatabaseRecord>& records) = 0;
  virtual void Sync() = 0;  // all that was written is on the disk; nothing may follow
  virtual DatabaseContents Contents() const = 0;
};
using DatabaseCreator = std::unique_ptr<DatabaseFormat> (*)(const std::string& path,
                                                            DatabaseMode mode);
using DatabaseFormats = Registry<DatabaseCreator>;

class DatabaseWriter {
 public:
  // Where one at `path` is until Finish if it cannot be resumed.
  static std::string FolderUntilFinish(const std::string& path);

  // `backend` ("LMDB", "LEVELDB") is one of DatabaseFormats. FileError if something is at `path`.
  DatabaseWriter(const std::string& backend, const std::string& path);
  // One that can be resumed: the folder PATH.tmp keeps what is written until Finish. `settings` is
  // any text that decides about the records; FileError where PATH.tmp was begun with another one,
  // or while another process writes there. Records come in the order of their keys.
  DatabaseWriter(const std::string& backend, const std::string& path, const std::string& settings);
  // Without Finish nothing is left of it, or what the next one goes on behind.
  ~DatabaseWriter();
  DatabaseWriter(const DatabaseWriter&) = delete;
  DatabaseWriter& operator=(const DatabaseWriter&) = delete;

  // What a writer before this one has left.
  const DatabaseContents& found() const { return found_; }
  // Records on the disk that the next writer would find; 0 where it cannot be resumed.
  int64_t kept() const { return lock_ < 0 ? 0 : found_.records + flushed_; }
  // Where the database is until Finish: a file put there goes with it.
  const std::string& folder() const { return temporary_; }

  // Keys differ; a reader gets the records in their order, whatever the order of writing.
  void Put(std::string key, std::string value);
  void Finish();

 private:
  void Open(const std::string& backend, DatabaseMode mode);
  void TakeSettings(const std::string& settings);
  void Flush();

  const std::string path_;
  const std::string aside_;      // all that is there before Finish
  const std::string temporary_;  // the database in it
  int lock_ = -1;                // on the file of settings, where the writer can be resumed
  DatabaseContents found_;
  int64_t flushed_ = 0;                     // records
  std::unique_ptr<DatabaseFormat> format_;  // null once finished
  std::vector<DatabaseRecord> waiting_;
  size_t waiting_bytes_ = 0;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_DATABASE_WRITER_H_
