// Writes databases of Caffe's Datums. A database is written under a temporary name next to its
// final path and renamed when it is complete, so a reader sees the whole database or nothing. A
// resumable writer keeps its records if the process is killed, and the next writer continues after
// them.
//
// Each format has its own file, which registers a creator under the name of the backend in
// data_param.
#ifndef DOPPIO_DATA_SOURCE_DATABASE_WRITER_H_
#define DOPPIO_DATA_SOURCE_DATABASE_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/unique_fd.h"
#include "core/base/registry.h"

namespace doppio {

using DatabaseRecord = std::pair<std::string, std::string>;  // key, value

struct DatabaseContents {
  int64_t records = 0;
  std::string last_key;  // the largest key; empty without records
};

enum class DatabaseMode {
  kNew,      // the path is free; only Sync makes records durable
  kDurable,  // opens or creates; records are durable when Write returns
};

// A database of one format, open for writing. All methods throw FileError.
class DatabaseFormat {
 public:
  virtual ~DatabaseFormat() = default;
  // Writes `records` as one batch.
  virtual void Write(const std::vector<DatabaseRecord>& records) = 0;
  virtual void Sync() = 0;  // makes all records durable; no Write may follow
  // Returns the number of records and the largest key.
  virtual DatabaseContents Contents() const = 0;
};
// Creates or opens the database at `path`, depending on `mode`. Throws FileError.
using DatabaseCreator = std::unique_ptr<DatabaseFormat> (*)(const std::string& path,
                                                            DatabaseMode mode);
using DatabaseFormats = Registry<DatabaseCreator>;

// The DatabaseCreator of the class T.
template <class T>
std::unique_ptr<DatabaseFormat> CreateAs(const std::string& path, DatabaseMode mode) {
  return std::make_unique<T>(path, mode);
}

class DatabaseWriter {
 public:
  // Returns the folder in which a writer that is not resumable keeps the database of `path` until
  // Finish.
  static std::string UnfinishedFolder(const std::string& path);

  // Starts a database that cannot be resumed. `backend` is a name in DatabaseFormats, such as
  // "LMDB" or "LEVELDB". Throws FileError if `path` exists.
  DatabaseWriter(const std::string& backend, const std::string& path);
  // Starts or resumes a resumable database, which stays in the folder PATH.tmp until Finish.
  // `settings` is any text that determines the records. Throws FileError if `path` exists, if
  // PATH.tmp was started with different settings, or if another process is writing to PATH.tmp. Put
  // records in the order of their keys.
  DatabaseWriter(const std::string& backend, const std::string& path, const std::string& settings);
  // If Finish was not called, removes the database, unless a later writer can resume from it.
  ~DatabaseWriter();
  DatabaseWriter(const DatabaseWriter&) = delete;
  DatabaseWriter& operator=(const DatabaseWriter&) = delete;

  // Returns the records that an earlier, unfinished writer left behind.
  const DatabaseContents& found() const { return found_; }
  // Returns the number of records on disk from which a later writer would resume; 0 if the writer
  // is not resumable.
  int64_t kept() const { return !lock_.open() ? 0 : found_.records + flushed_; }
  // Returns the folder that holds the database until Finish. Files put into this folder move with
  // the database.
  const std::string& folder() const { return temporary_; }

  // Adds a record. Keys must be unique. Readers see records in key order, whatever the order of
  // Put. Buffers records; throws FileError if writing them fails.
  void Put(std::string key, std::string value);
  // Writes all buffered records to disk. No Put may follow. Throws FileError. A command with
  // several databases completes all of them before it finishes one, so that a full disk leaves
  // none.
  void Complete();
  // Completes the database and renames it to its final path. Throws FileError.
  void Finish();

 private:
  void Open(const std::string& backend, DatabaseMode mode);
  void TakeSettings(const std::string& settings);
  void Flush();

  const std::string path_;
  const std::string staging_folder_;  // folder of all files that exist before Finish
  const std::string temporary_;  // folder of the database, inside staging_folder_ or equal to it
  UniqueFd lock_;                // holds a file lock on the settings file; closed if not resumable
  DatabaseContents found_;
  int64_t flushed_ = 0;                     // number of records passed to format_
  std::unique_ptr<DatabaseFormat> format_;  // null after Complete
  bool finished_ = false;
  std::vector<DatabaseRecord> pending_;
  size_t pending_bytes_ = 0;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_DATABASE_WRITER_H_
