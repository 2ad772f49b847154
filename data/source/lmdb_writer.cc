#include <lmdb.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "core/base/error.h"
#include "core/base/library_version.h"
#include "data/source/database_writer.h"

namespace doppio {
namespace {

class LmdbFormat : public DatabaseFormat {
 public:
  LmdbFormat(const std::string& path, DatabaseMode mode) : path_(path) {
    const bool durable = mode == DatabaseMode::kDurable;
    if (mkdir(path.c_str(), 0777) != 0 && !(durable && errno == EEXIST)) {
      Fail(std::strerror(errno));
    }
    Must(mdb_env_create(&env_));
    try {
      Must(mdb_env_set_mapsize(env_, map_bytes_));
      // No other process opens the file before Finish renames it, so LMDB needs no lock.
      const unsigned flags = MDB_NOLOCK | (durable ? 0u : unsigned{MDB_NOSYNC});
      Must(mdb_env_open(env_, path.c_str(), flags, 0664));
    } catch (...) {
      mdb_env_close(env_);
      throw;
    }
  }
  ~LmdbFormat() override { mdb_env_close(env_); }

  // LMDB needs a maximum size in advance, which is doubled until the records fit.
  void Write(const std::vector<DatabaseRecord>& records) override {
    int result = TryWrite(records);
    while (result == MDB_MAP_FULL) {
      map_bytes_ *= 2;
      Must(mdb_env_set_mapsize(env_, map_bytes_));
      result = TryWrite(records);
    }
    Must(result);
  }

  void Sync() override { Must(mdb_env_sync(env_, 1)); }

  DatabaseContents Contents() const override {
    MDB_txn* transaction = nullptr;
    Must(mdb_txn_begin(env_, nullptr, MDB_RDONLY, &transaction));
    MDB_dbi table;
    MDB_stat stat;
    MDB_cursor* cursor = nullptr;
    MDB_val key, value;
    int result = mdb_dbi_open(transaction, nullptr, 0, &table);
    if (result == 0) result = mdb_stat(transaction, table, &stat);
    if (result == 0) result = mdb_cursor_open(transaction, table, &cursor);
    if (result == 0) result = mdb_cursor_get(cursor, &key, &value, MDB_LAST);
    DatabaseContents contents;
    if (result == 0) {
      contents.records = static_cast<int64_t>(stat.ms_entries);
      contents.last_key.assign(static_cast<const char*>(key.mv_data), key.mv_size);
    }
    if (cursor != nullptr) mdb_cursor_close(cursor);
    mdb_txn_abort(transaction);
    if (result != MDB_NOTFOUND) Must(result);  // not found: the database is empty
    return contents;
  }

 private:
  // Writes all records in one transaction, or none.
  int TryWrite(const std::vector<DatabaseRecord>& records) {
    MDB_txn* transaction = nullptr;
    int result = mdb_txn_begin(env_, nullptr, 0, &transaction);
    if (result != 0) return result;
    MDB_dbi table;
    result = mdb_dbi_open(transaction, nullptr, 0, &table);
    for (size_t i = 0; result == 0 && i < records.size(); ++i) {
      MDB_val key = ValueOf(records[i].first), value = ValueOf(records[i].second);
      result = mdb_put(transaction, table, &key, &value, MDB_NOOVERWRITE);
      if (result == MDB_BAD_VALSIZE) {
        mdb_txn_abort(transaction);
        throw FileError("key '" + records[i].first + "' is longer than the " +
                        std::to_string(mdb_env_get_maxkeysize(env_)) + " bytes that LMDB allows");
      }
    }
    if (result == 0) return mdb_txn_commit(transaction);
    mdb_txn_abort(transaction);
    return result;
  }

  static MDB_val ValueOf(const std::string& text) {
    return {text.size(), const_cast<char*>(text.data())};
  }

  [[noreturn]] void Fail(const std::string& reason) const {
    throw FileError("cannot write LMDB database '" + path_ + "': " + reason);
  }
  void Must(int result) const {
    if (result != 0) Fail(mdb_strerror(result));
  }

  const std::string path_;
  MDB_env* env_ = nullptr;
  size_t map_bytes_ = size_t{16} << 20;
};

DOPPIO_REGISTER(DatabaseFormats, "LMDB", &CreateAs<LmdbFormat>);

std::string RunningLmdb() {
  int major = 0, minor = 0, patch = 0;
  mdb_version(&major, &minor, &patch);
  return DottedVersion(major, minor, patch);
}

DOPPIO_REGISTER(Libraries, "LMDB",
                {DottedVersion(MDB_VERSION_MAJOR, MDB_VERSION_MINOR, MDB_VERSION_PATCH),
                 &RunningLmdb});

}  // namespace
}  // namespace doppio
