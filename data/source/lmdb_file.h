// Reads the records of an LMDB database without liblmdb, which trusts every number in a file: a
// truncated or damaged file ends the program with SIGBUS or SIGSEGV. Reads only the main table, in
// the form in which Caffe fills it, with one value per key.
#ifndef DOPPIO_DATA_SOURCE_LMDB_FILE_H_
#define DOPPIO_DATA_SOURCE_LMDB_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace doppio {

class LmdbFile {
 public:
  struct Record {
    std::string_view key, value;
  };

  // Maps the file `path` (data.mdb, not its folder) into memory and finds all records, which reads
  // every page that holds keys. Throws FileError without the path: "it is not an LMDB file", "it
  // ends too early...".
  explicit LmdbFile(const std::string& path);
  ~LmdbFile();
  LmdbFile(const LmdbFile&) = delete;
  LmdbFile& operator=(const LmdbFile&) = delete;

  // Returns the records in key order. They point into the mapped file and are valid for the
  // lifetime of this object.
  const std::vector<Record>& records() const { return records_; }

 private:
  uint64_t pages() const { return bytes_ / page_bytes_; }
  const char* Range(uint64_t offset, uint64_t bytes) const;
  template <class T>
  T At(uint64_t offset) const;
  uint64_t OffsetOf(uint64_t page) const;
  void ReadAll();
  void ReadPage(uint64_t page, int level);
  void ReadNode(uint64_t page, uint64_t at, bool leaf, int level);

  const char* map_ = nullptr;
  uint64_t bytes_ = 0;
  uint64_t page_bytes_ = 0;
  uint64_t pages_read_ = 0;
  std::vector<Record> records_;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_LMDB_FILE_H_
