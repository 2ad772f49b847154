// HDF5 files of blobs, as Caffe lays out weights and solver states: groups and small data sets.
// Keeps the library's handles and error texts inside. Not thread-safe per object.
#ifndef DOPPIO_CORE_NET_STORE_HDF5_BLOBS_H_
#define DOPPIO_CORE_NET_STORE_HDF5_BLOBS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/net/store/plain_blob.h"

namespace doppio {

bool IsHdf5(const std::string& path);  // by its first bytes; false when it cannot be read

// Everything throws FileError when the file has not what is asked for.
class Hdf5BlobReader {
 public:
  // `kind` (".caffemodel.h5") is what messages say the file is not.
  Hdf5BlobReader(const std::string& path, const std::string& kind);
  ~Hdf5BlobReader();
  Hdf5BlobReader(const Hdf5BlobReader&) = delete;
  Hdf5BlobReader& operator=(const Hdf5BlobReader&) = delete;

  struct Child {
    std::string name;
    bool group = false;
  };
  std::vector<Child> Children(const std::string& group) const;  // by name
  bool Has(const std::string& name) const;                      // whose parent exists
  // All that are read together may have as many elements as one data set, or as the file can hold:
  // names of one data set must not become many copies of it.
  PlainBlob Blob(const std::string& name);
  int64_t Int(const std::string& name) const;
  std::string Text(const std::string& name) const;
  // What the writer's RootBytes wrote; "" when there is nothing.
  std::string RootBytes(const std::string& name) const;

  [[noreturn]] void Fail(const std::string& what) const;

 private:
  Shape ShapeOf(int64_t dataset, const std::string& name) const;
  void TakeElements(int64_t count, const std::string& name);

  const std::string path_, kind_;
  int64_t file_;               // hid_t
  int64_t elements_read_ = 0;  // of blobs that lie in this file
};

// The attribute with part `part` of RootBytes.
inline std::string NameOfPart(const std::string& name, int part) {
  return part == 0 ? name : name + "." + std::to_string(part);
}

class Hdf5BlobWriter {
 public:
  explicit Hdf5BlobWriter(const std::string& path);  // creates or empties the file
  ~Hdf5BlobWriter();
  Hdf5BlobWriter(const Hdf5BlobWriter&) = delete;
  Hdf5BlobWriter& operator=(const Hdf5BlobWriter&) = delete;

  // Missing groups on the way are made.
  void Group(const std::string& name);
  void Blob(const std::string& name, const Shape& shape, const float* data);
  // A data set that grows: the first call makes it, later ones add their rows. `shape`: rows first,
  // the rest alike in each call. They are in the file when it returns.
  void AddRows(const std::string& name, const Shape& shape, const float* data);
  void Int(const std::string& name, int64_t value);  // 32 bits, one element, as BVLC reads it
  void Text(const std::string& name, const std::string& text);
  // As an attribute of the file itself, which lists of data sets do not show, or, since one holds
  // at most 64 KB, several.
  void RootBytes(const std::string& name, const std::string& bytes);
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
