// LMDB databases of Caffe Datums. Opened read-only and without a lock file, so that several jobs,
// and jobs on a read-only file system, share one. The addresses of all records are noted at the
// start: values stay in the map, so reading is thread-safe, in any order, and copies nothing twice.
#include <lmdb.h>

#include <vector>

#include "core/base/content_kind.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/library_version.h"
#include "data/database_facts.h"
#include "data/datum.h"
#include "data/source.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

// Closes in the right order on every way out, a throwing constructor's too.
struct Handles {
  MDB_env* env = nullptr;
  MDB_txn* transaction = nullptr;
  MDB_cursor* cursor = nullptr;

  Handles() = default;
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  ~Handles() {
    if (cursor != nullptr) mdb_cursor_close(cursor);
    if (transaction != nullptr) mdb_txn_abort(transaction);
    if (env != nullptr) mdb_env_close(env);
  }
};

class LmdbSource : public Source {
 public:
  explicit LmdbSource(const std::string& path) : path_(path) {
    if (!FileExists(path))
      throw FileError("no LMDB database at '" + path + "': there is no such file");
    const bool folder = FileExists(path + "/.");
    if (folder && !FileExists(path + "/data.mdb")) {
      throw FileError("'" + path + "' is not an LMDB database: it has no data.mdb" +
                      (FileExists(path + "/CURRENT")
                           ? "; it looks like a LevelDB, so set backend: LEVELDB"
                           : ""));
    }
    const std::string file = folder ? path + "/data.mdb" : path;
    RefusePipe(file, "an LMDB database");
    if (FileBytes(file) == 0) {
      throw FileError("'" + file + "' is not an LMDB file: it has no bytes at all");
    }
    Must(mdb_env_create(&handles_.env));
    const unsigned flags =
        MDB_RDONLY | MDB_NOLOCK | MDB_NOTLS | (folder ? 0u : unsigned{MDB_NOSUBDIR});
    Must(mdb_env_open(handles_.env, path.c_str(), flags, 0664));
    Must(mdb_txn_begin(handles_.env, nullptr, MDB_RDONLY, &handles_.transaction));
    MDB_dbi table;
    Must(mdb_dbi_open(handles_.transaction, nullptr, 0, &table));
    MDB_stat stat;
    Must(mdb_stat(handles_.transaction, table, &stat));
    Must(mdb_cursor_open(handles_.transaction, table, &handles_.cursor));
    ReadIndex(stat.ms_entries);
    if (records_.empty()) throw FileError("LMDB database '" + path + "' is empty");
  }

  int64_t size() const override { return static_cast<int64_t>(records_.size()); }

  void Read(int64_t index, Record* record) const override {
    const MDB_val& value = records_[static_cast<size_t>(index)].value;
    ReadDatum(value.mv_data, value.mv_size, record);
  }

  std::string Name(int64_t index) const override {
    return "record '" + KeyOf(index) + "' of '" + path_ + "'";
  }
  SourceFacts facts() const override { return FactsOfDatabase(*this, KeyOf(0), path_); }

 private:
  struct Entry {
    MDB_val key, value;
  };

  std::string KeyOf(int64_t index) const {
    const MDB_val& key = records_[static_cast<size_t>(index)].key;
    return std::string(static_cast<const char*>(key.mv_data), key.mv_size);
  }

  void Must(int result) const {
    if (result == 0) return;
    std::string reason = mdb_strerror(result);
    if (result == MDB_INVALID) {
      const std::string found = WhatItIs(ReadHead(path_, kKindBytes));
      reason = found.empty() ? "it is not an LMDB file" : found;
    }
    throw FileError("cannot open LMDB database '" + path_ + "': " + reason);
  }

  void ReadIndex(size_t entries) {
    records_.reserve(entries);
    Entry entry;
    int result = mdb_cursor_get(handles_.cursor, &entry.key, &entry.value, MDB_FIRST);
    for (; result == 0;
         result = mdb_cursor_get(handles_.cursor, &entry.key, &entry.value, MDB_NEXT)) {
      records_.push_back(entry);
    }
    if (result != MDB_NOTFOUND) Must(result);
  }

  const std::string path_;
  Handles handles_;
  std::vector<Entry> records_;
};

std::unique_ptr<Source> OpenLmdb(const DataParameter& parameter, Phase) {
  return std::make_unique<LmdbSource>(parameter.source());
}

DOPPIO_REGISTER(Sources, "LMDB", &OpenLmdb);

std::string RunningVersion() {
  int major = 0, minor = 0, patch = 0;
  mdb_version(&major, &minor, &patch);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

DOPPIO_REGISTER(Libraries, "LMDB",
                {std::to_string(MDB_VERSION_MAJOR) + "." + std::to_string(MDB_VERSION_MINOR) + "." +
                     std::to_string(MDB_VERSION_PATCH),
                 &RunningVersion});

}  // namespace
}  // namespace doppio
