// The records of an LMDB database, read from its file without liblmdb, which trusts every number in
// a file: one that is cut or damaged ends a program with SIGBUS or SIGSEGV. Only the main table is
// read, as Caffe fills it: one value for each key.
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

  // Maps `path` (data.mdb, not its folder) and finds all records, which reads every page that holds
  // keys. Throws FileError, without the path: "it is not an LMDB file", "it ends too early...".
  explicit LmdbFile(const std::string& path);
  ~LmdbFile();
  LmdbFile(const LmdbFile&) = delete;
  LmdbFile& operator=(const LmdbFile&) = delete;

  // In the order of their keys. They lie in the map, and live as long as this object.
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
