#include <lmdb.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "core/base/error.h"
#include "data/database_writer.h"

namespace doppio {
namespace {

class LmdbFormat : public DatabaseFormat {
 public:
  explicit LmdbFormat(const std::string& path) : path_(path) {
    if (mkdir(path.c_str(), 0777) != 0) Fail(std::strerror(errno));
    Must(mdb_env_create(&env_));
    try {
      Must(mdb_env_set_mapsize(env_, map_bytes_));
      // Nobody knows of the file yet, so there is nobody to lock out; Sync comes once, at the end.
      Must(mdb_env_open(env_, path.c_str(), MDB_NOLOCK | MDB_NOSYNC, 0664));
    } catch (...) {
      mdb_env_close(env_);
      throw;
    }
  }
  ~LmdbFormat() override { mdb_env_close(env_); }

  // LMDB wants to know its size before; it is doubled until the records fit.
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

 private:
  // All of them in one transaction, or none.
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
                        std::to_string(mdb_env_get_maxkeysize(env_)) + " bytes that LMDB takes");
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

std::unique_ptr<DatabaseFormat> Create(const std::string& path) {
  return std::make_unique<LmdbFormat>(path);
}

DOPPIO_REGISTER(DatabaseFormats, "LMDB", &Create);

}  // namespace
}  // namespace doppio
