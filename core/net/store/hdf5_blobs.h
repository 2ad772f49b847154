// Reads and writes HDF5 files of blobs in Caffe's layout of weights and solver states: groups and
// small data sets. Hides the HDF5 library's handles and error messages. Objects are not
// thread-safe.
#ifndef DOPPIO_CORE_NET_STORE_HDF5_BLOBS_H_
#define DOPPIO_CORE_NET_STORE_HDF5_BLOBS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/net/contract/plain_blob.h"

namespace doppio {

// Returns true if the file starts with HDF5's signature. Returns false if the file cannot be read.
bool IsHdf5(const std::string& path);

// Reads an HDF5 file. All methods throw FileError if the file does not contain the requested
// object.
class Hdf5BlobReader {
 public:
  // `kind` (".caffemodel.h5") is the expected kind of file, for messages.
  Hdf5BlobReader(const std::string& path, const std::string& kind);
  ~Hdf5BlobReader();
  Hdf5BlobReader(const Hdf5BlobReader&) = delete;
  Hdf5BlobReader& operator=(const Hdf5BlobReader&) = delete;

  struct Child {
    std::string name;
    bool group = false;
  };
  // Returns the members of a group, sorted by name.
  std::vector<Child> Children(const std::string& group) const;
  bool Has(const std::string& name) const;  // The parent of `name` must exist.
  // Reads a data set and converts it to float. Throws FileError if all calls together read more
  // elements than a file of this size can hold, because a data set with many names must not fill
  // memory with copies.
  PlainBlob Blob(const std::string& name);
  // Reads a data set of one integer.
  int64_t Int(const std::string& name) const;
  // Reads a data set of one string.
  std::string Text(const std::string& name) const;
  // Returns what Hdf5BlobWriter::RootBytes wrote, or "" if there is nothing.
  std::string RootBytes(const std::string& name) const;

  [[noreturn]] void Fail(const std::string& what) const;

 private:
  Shape ShapeOf(int64_t dataset, const std::string& name) const;
  void TakeElements(int64_t count, const std::string& name);

  const std::string path_, kind_;
  int64_t file_;               // hid_t
  int64_t elements_read_ = 0;  // elements read so far from data sets stored in this file
};

// Returns the name of the attribute that holds part `part` of RootBytes.
inline std::string NameOfPart(const std::string& name, int part) {
  return part == 0 ? name : name + "." + std::to_string(part);
}

// Writes an HDF5 file.
class Hdf5BlobWriter {
 public:
  // Creates or empties the file. All methods throw FileError if writing fails.
  explicit Hdf5BlobWriter(const std::string& path);
  ~Hdf5BlobWriter();
  Hdf5BlobWriter(const Hdf5BlobWriter&) = delete;
  Hdf5BlobWriter& operator=(const Hdf5BlobWriter&) = delete;

  // Creates a group and its missing parents.
  void Group(const std::string& name);
  // Writes a data set of floats. Creates missing groups in its name.
  void Blob(const std::string& name, const Shape& shape, const float* data);
  // Appends rows to a data set, which the first call creates. Axis 0 of `shape` counts the rows;
  // the other axes must be the same in each call. The rows are flushed to the file before the call
  // returns.
  void AddRows(const std::string& name, const Shape& shape, const float* data);
  // Writes one element of 32 bits, as BVLC Caffe reads it.
  void Int(const std::string& name, int64_t value);
  // Writes a data set of one string.
  void Text(const std::string& name, const std::string& text);
  // Writes bytes as attributes of the file's root, which do not appear in lists of data sets. Uses
  // several attributes if needed, because one holds at most 64 KB.
  void RootBytes(const std::string& name, const std::string& bytes);
  // Closes the file. Call once, after the last write.
  void Close();

 private:
  [[noreturn]] void Fail() const;
  void Write(const std::string& name, const Shape& shape, int64_t file_type, int64_t memory_type,
             const void* data);

  const std::string path_;
  int64_t file_, make_groups_, untimed_;  // hid_t
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_STORE_HDF5_BLOBS_H_
