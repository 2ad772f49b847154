// Reads the records of an LMDB database without liblmdb, which trusts every number in a file: a
// truncated or damaged file ends the program with SIGBUS or SIGSEGV. Reads only the main table, in
// the form in which Caffe fills it, with one value per key. Does not map the file into memory,
// because a mapped file that is cut off, or whose disk fails, ends the program with SIGBUS.
#ifndef DOPPIO_DATA_SOURCE_LMDB_FILE_H_
#define DOPPIO_DATA_SOURCE_LMDB_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/unique_fd.h"

namespace doppio {

// kWrite: liblmdb will write to the file, so the table of its free pages is checked too.
enum class LmdbUse { kRead, kWrite };

class LmdbFile {
 public:
  // Opens the file `path` (data.mdb, not its folder) and finds all records, which reads every page
  // that holds keys. Throws FileError without the path: "it is not an LMDB file", "it ends too
  // early...".
  explicit LmdbFile(const std::string& path, LmdbUse use = LmdbUse::kRead);

  // Returns the number of records. They are in key order.
  int64_t size() const { return static_cast<int64_t>(records_.size()); }
  // Read the key and the value of a record from the file. Thread-safe. Throw FileError without the
  // path if the file has been cut off meanwhile, or the disk fails.
  std::string Key(int64_t index) const;
  void ReadValue(int64_t index, std::string* value) const;

 private:
  struct Record {
    uint64_t key, value;  // offsets in the file
    uint32_t value_bytes;
    uint16_t key_bytes;
  };

  uint64_t pages() const { return bytes_ / page_bytes_; }
  void CheckRange(uint64_t offset, uint64_t bytes) const;
  void Read(uint64_t offset, uint64_t bytes, std::string* to) const;
  uint64_t OffsetOf(uint64_t page) const;
  void ReadAll(LmdbUse use);
  void ReadPage(uint64_t number, int level);
  void ReadNode(const std::string& page, uint64_t begin, uint64_t at, bool leaf, int level);

  const UniqueFd file_;
  uint64_t bytes_ = 0;
  uint64_t page_bytes_ = 0;
  uint64_t pages_read_ = 0;
  std::vector<Record> records_;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_LMDB_FILE_H_
