// An HDF5 file that grows by the rows of each pass: what layer HDF5Output writes. It is written
// aside ("out.h5.part.4711") and gets its name when the last who holds it lets go. Then it is
// whole: with all rows of every pass that ended, whatever ended the run.
#ifndef DOPPIO_CORE_NET_RUN_ROWS_FILE_H_
#define DOPPIO_CORE_NET_RUN_ROWS_FILE_H_

#include <memory>
#include <string>

#include "core/net/store/hdf5_blobs.h"

namespace doppio {

class RowsFile {
 public:
  // The one of this path in this process; a new one where nobody holds it. `owner` says whose it is
  // ("layer 'out' of a TEST net"): several nets may share what has one owner. Throws UserError
  // where it has another one, FileError when nothing can be written there. Thread-safe.
  static std::shared_ptr<RowsFile> At(const std::string& path, const std::string& owner);
  ~RowsFile();
  RowsFile(const RowsFile&) = delete;
  RowsFile& operator=(const RowsFile&) = delete;

  // As Hdf5BlobWriter's. After it has thrown, the file is left out.
  void AddRows(const std::string& name, const Shape& shape, const float* data);

 private:
  RowsFile(const std::string& path, const std::string& owner);

  const std::string path_, owner_, aside_;
  Hdf5BlobWriter writer_;
  bool failed_ = false;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_RUN_ROWS_FILE_H_
