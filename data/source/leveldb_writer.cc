#include <leveldb/db.h>
#include <leveldb/write_batch.h>

#include "core/base/error.h"
#include "data/source/database_writer.h"
#include "data/source/leveldb_env.h"

namespace doppio {
namespace {

class LevelDbFormat : public DatabaseFormat {
 public:
  LevelDbFormat(const std::string& path, DatabaseMode mode)
      : path_(path), durable_(mode == DatabaseMode::kDurable) {
    leveldb::Options options;
    options.env = UnmappedEnv();
    options.create_if_missing = true;
    options.error_if_exists = !durable_;
    options.write_buffer_size = 64 << 20;
    options.block_size = 64 << 10;
    leveldb::DB* db = nullptr;
    Must(leveldb::DB::Open(options, path, &db));
    db_.reset(db);
  }

  void Write(const std::vector<DatabaseRecord>& records) override { Write(records, durable_); }

  // Syncs the log, which holds the records that are not in a table yet.
  void Sync() override { Write({}, true); }

  DatabaseContents Contents() const override {
    DatabaseContents contents;
    const std::unique_ptr<leveldb::Iterator> all(db_->NewIterator(leveldb::ReadOptions()));
    for (all->SeekToFirst(); all->Valid(); all->Next()) {
      ++contents.records;
      contents.last_key = all->key().ToString();
    }
    Must(all->status());
    return contents;
  }

 private:
  void Write(const std::vector<DatabaseRecord>& records, bool sync) {
    leveldb::WriteBatch batch;
    for (const auto& [key, value] : records) batch.Put(key, value);
    leveldb::WriteOptions options;
    options.sync = sync;
    Must(db_->Write(options, &batch));
  }

  void Must(const leveldb::Status& status) const {
    if (!status.ok()) {
      throw FileError("cannot write LevelDB database '", path_, "': ", status.ToString());
    }
  }

  const std::string path_;
  const bool durable_;
  std::unique_ptr<leveldb::DB> db_;
};

DOPPIO_REGISTER(DatabaseFormats, "LEVELDB", &CreateAs<LevelDbFormat>);

}  // namespace
}  // namespace doppio
