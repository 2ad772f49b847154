#include <fcntl.h>
#include <lmdb.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/unique_fd.h"
#include "core/base/error.h"
#include "core/base/library_version.h"
#include "data/source/database_writer.h"
#include "data/source/lmdb_file.h"

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

  // Checks the file, because liblmdb ends the program with SIGBUS if it has been cut off.
  DatabaseContents Contents() const override {
    try {
      const LmdbFile file(DataFile(), LmdbUse::kWrite);
      const int64_t records = file.size();
      return {records, records == 0 ? "" : file.Key(records - 1)};
    } catch (const FileError& e) {
      Fail(e.message() + "; remove it to start again");
    }
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
        throw FileError("key '", records[i].first, "' is longer than the ",
                        mdb_env_get_maxkeysize(env_), " bytes that LMDB allows");
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
    throw FileError("cannot write LMDB database '", path_, "': ", reason);
  }
  void Must(int result) const {
    if (result != 0) Fail(mdb_strerror(ReasonFor(result)));
  }

  // liblmdb reports a short write as EIO or ENOSPC whatever its cause. Returns the reason why the
  // file cannot grow, if it cannot.
  int ReasonFor(int result) const {
    if (result != EIO && result != ENOSPC) return result;
    const UniqueFd file(open(DataFile().c_str(), O_WRONLY | O_CLOEXEC));
    if (!file.open()) return result;
    const off_t end = lseek(file.get(), 0, SEEK_END);
    const int reason = posix_fallocate(file.get(), end, 1 << 20);
    (void)!ftruncate(file.get(), end);
    return reason == ENOSPC || reason == EFBIG || reason == EDQUOT ? reason : result;
  }

  std::string DataFile() const { return path_ + "/data.mdb"; }

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
