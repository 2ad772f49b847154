// An HDF5 file to which each pass appends rows; layer HDF5Output writes it. The rows go to a
// temporary file ("out.h5.part.4711"), which is renamed when the last shared pointer is released.
// The final file then contains all rows of every completed pass, even if the run ended early.
#ifndef DOPPIO_CORE_NET_RUN_ROWS_FILE_H_
#define DOPPIO_CORE_NET_RUN_ROWS_FILE_H_

#include <memory>
#include <string>

#include "core/net/store/hdf5_blobs.h"

namespace doppio {

// A file that several nets of one process may write.
class RowsFile {
 public:
  // Returns this process's file for `path`, and creates it if no net uses it. `owner` names the
  // writer ("layer 'out' of a TEST net"); several nets may share a file if they have the same
  // owner. Throws UserError if the file has another owner, FileError if the file cannot be written.
  // Thread-safe.
  static std::shared_ptr<RowsFile> At(const std::string& path, const std::string& owner);
  ~RowsFile();
  RowsFile(const RowsFile&) = delete;
  RowsFile& operator=(const RowsFile&) = delete;

  // See Hdf5BlobWriter::AddRows. If it throws, the final file is not written.
  void AddRows(const std::string& name, const Shape& shape, const float* data);

 private:
  RowsFile(const std::string& path, const std::string& owner);

  const std::string path_, owner_, part_path_;
  Hdf5BlobWriter writer_;
  bool failed_ = false;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_RUN_ROWS_FILE_H_
