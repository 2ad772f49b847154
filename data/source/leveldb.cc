// Reads LevelDB databases of Caffe Datums. LevelDB lets only one process open a database, and only
// once, so the replicas in this process share one handle. Opening reads the whole database to
// collect all keys, because LevelDB keeps no count of records and finds a record only by its key.
#include <leveldb/db.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/library_version.h"
#include "data/record/source.h"
#include "data/source/database_facts.h"
#include "data/source/datum.h"
#include "data/source/leveldb_env.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

struct Database {
  std::unique_ptr<leveldb::DB> db;
  std::vector<std::string> keys;
};

[[noreturn]] void CannotOpen(const std::string& path, const leveldb::Status& status) {
  const std::string reason = status.ToString();
  if (status.IsIOError() && reason.find("/LOCK") != std::string::npos) {
    throw FileError("LevelDB database '", path, "' is locked (", reason,
                    "): another process has it open, or its folder is not writable. LevelDB allows "
                    "one process only; an LMDB database can be shared");
  }
  throw FileError("cannot open LevelDB database '", path, "': ", reason);
}

void ReadKeys(Database* database, const std::string& path) {
  leveldb::ReadOptions once;
  once.fill_cache = false;
  once.verify_checksums = true;  // LevelDB aborts the program if it trusts a damaged block
  std::unique_ptr<leveldb::Iterator> it(database->db->NewIterator(once));
  for (it->SeekToFirst(); it->Valid(); it->Next()) database->keys.push_back(it->key().ToString());
  if (!it->status().ok()) CannotOpen(path, it->status());
}

std::shared_ptr<Database> OpenDatabase(const std::string& path) {
  if (!FileExists(path))
    throw FileError("no LevelDB database at '", path, "': there is no such folder");
  RefusePipe(path, "a LevelDB database");
  std::error_code unread;
  for (const auto& file : std::filesystem::directory_iterator(path, unread))
    RefusePipe(file.path().string(), "a file of a LevelDB database");
  if (!FileExists(path + "/CURRENT")) {
    throw FileError(
        "'", path, "' is not a LevelDB database: it has no file CURRENT",
        FileExists(path + "/data.mdb") ? "; it looks like an LMDB, so set backend: LMDB" : "");
  }
  auto database = std::make_shared<Database>();
  leveldb::Options options;
  options.env = UnmappedEnv();
  options.max_open_files = 100;
  options.paranoid_checks = true;  // report damaged records instead of skipping them
  leveldb::DB* db = nullptr;
  const leveldb::Status status = leveldb::DB::Open(options, path, &db);
  if (!status.ok()) CannotOpen(path, status);
  database->db.reset(db);
  try {
    ReadKeys(database.get(), path);
  } catch (const std::bad_alloc&) {
    // LevelDB allocates a block with the size stored in the file. It is compiled without
    // exceptions, so this exception leaves its mutex locked, and closing the database would wait
    // for ever. Leak the database instead.
    static_cast<void>(database->db.release());
    throw FileError("cannot open LevelDB database '", path,
                    "': it is damaged: one of its blocks is larger than the memory");
  }
  if (database->keys.empty()) throw FileError("LevelDB database '", path, "' is empty");
  return database;
}

// The databases that are open in this process, by path. There is one object, because LevelDB opens
// a database only once per process, and sources in different nets and threads may read the same.
class OpenDatabases {
 public:
  static OpenDatabases& Get() {
    static OpenDatabases all;
    return all;
  }
  std::shared_ptr<Database> Share(const std::string& path) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::shared_ptr<Database> database = open_[path].lock();
    if (database == nullptr) {
      database = OpenDatabase(path);
      open_[path] = database;
    }
    return database;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<Database>> open_;
};

class LevelDbSource : public Source {
 public:
  LevelDbSource(const DataParameter& parameter, Phase)
      : path_(parameter.source()), database_(OpenDatabases::Get().Share(path_)) {}

  int64_t size() const override { return static_cast<int64_t>(database_->keys.size()); }

  void Read(int64_t index, Record* record) const override {
    thread_local std::string value;
    leveldb::ReadOptions options;
    options.verify_checksums = true;
    const leveldb::Status status = database_->db->Get(options, database_->keys[index], &value);
    if (!status.ok()) throw FileError(status.ToString());
    ReadDatum(value.data(), value.size(), record);
  }

  std::string Name(int64_t index) const override {
    return "record '" + database_->keys[index] + "' of '" + path_ + "'";
  }
  SourceFacts facts() const override { return FactsOfDatabase(*this, database_->keys[0], path_); }

 private:
  const std::string path_;
  const std::shared_ptr<Database> database_;
};

DOPPIO_REGISTER(Sources, "LEVELDB", {&OpenAs<LevelDbSource>});

DOPPIO_REGISTER(Libraries, "LevelDB",
                {StrCat(leveldb::kMajorVersion, ".", leveldb::kMinorVersion)});

}  // namespace
}  // namespace doppio
