#include <algorithm>
#include <cstring>

#include "core/base/content/content_kind.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/file_limits.h"
#include "core/net/store/hdf5_blobs.h"
#include "core/tensor/hdf5_handle.h"
#include "core/tensor/hdf5_shape.h"
#include "core/tensor/hdf5_values.h"

namespace doppio {
namespace {

herr_t AddName(hid_t, const char* name, const H5L_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->push_back(name);
  return 0;
}

constexpr size_t kMaxTextBytes = 1 << 20;  // more than any path needs

}  // namespace

bool IsHdf5(const std::string& path) {
  return KindOfContent(ReadHead(path, kKindBytes)) == ContentKind::kHdf5;
}

Hdf5BlobReader::Hdf5BlobReader(const std::string& path, const std::string& kind)
    : path_(path), kind_(kind), file_(-1) {
  H5Eset_auto2(H5E_DEFAULT, nullptr,
               nullptr);  // stops the library from printing errors; this is set per thread
  CheckExists(path);
  if (!IsHdf5(path)) {
    const std::string found = DescribeContent(ReadHead(path, kKindBytes));
    Fail(found.empty() ? "it is not an HDF5 file" : found);
  }
  RefusePipe(path, "an HDF5 file");
  file_ = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file_ < 0) Fail("it is damaged; it may have been cut off while it was copied");
}

Hdf5BlobReader::~Hdf5BlobReader() {
  if (file_ >= 0) H5Fclose(file_);
}

void Hdf5BlobReader::Fail(const std::string& what) const {
  throw FileError("'", path_, "' is not a ", kind_, ": ", what);
}

std::vector<Hdf5BlobReader::Child> Hdf5BlobReader::Children(const std::string& group) const {
  const Hdf5Handle parent(H5Gopen2(file_, group.c_str(), H5P_DEFAULT), H5Gclose);
  if (!parent.ok()) Fail("it has no group '" + group + "'");
  std::vector<std::string> names;
  H5Literate(parent.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, AddName, &names);
  std::vector<Child> children;
  for (const std::string& name : names) {
    const Hdf5Handle child(H5Gopen2(parent.get(), name.c_str(), H5P_DEFAULT), H5Gclose);
    children.push_back({name, child.ok()});
  }
  return children;
}

bool Hdf5BlobReader::Has(const std::string& name) const {
  return H5Lexists(file_, name.c_str(), H5P_DEFAULT) > 0;
}

Shape Hdf5BlobReader::ShapeOf(int64_t dataset, const std::string& name) const {
  return Hdf5ShapeOf(dataset,
                     "'" + path_ + "' is not a " + kind_ + ": its data set '" + name + "'");
}

void Hdf5BlobReader::TakeElements(int64_t count, const std::string& name) {
  elements_read_ += count;
  const int64_t bytes = FileBytes(path_);
  if (elements_read_ <= std::max(kHdf5AlwaysAllocated, kMaxDeflated * bytes)) return;
  Fail(StrCat("its data sets up to '", name, "' state ", elements_read_,
              " elements, but it has only ", bytes, " bytes; one of them may have several names"));
}

PlainBlob Hdf5BlobReader::Blob(const std::string& name) {
  const Hdf5Handle data(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose);
  if (!data.ok()) Fail("it has no data set '" + name + "'");
  const std::string found = Hdf5NotNumbers(data.get());
  if (!found.empty()) Fail("its data set '" + name + "' does not hold numbers, but " + found);
  PlainBlob blob;
  blob.shape = ShapeOf(data.get(), name);
  if (Hdf5FileOf(data.get()) == Hdf5FileOf(file_) && !Hdf5IsExternal(data.get()))
    TakeElements(blob.shape.count(), name);
  WithinMemory(path_, [&] { blob.data.resize(blob.shape.count()); });
  if (!ReadHdf5Floats(data.get(), blob.shape.count(), blob.data.data())) {
    Fail("its data set '" + name + "' is damaged");
  }
  return blob;
}

int64_t Hdf5BlobReader::Int(const std::string& name) const {
  const Hdf5Handle data(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose);
  int64_t value = 0;
  if (!data.ok()) Fail("it has no data set '" + name + "'");
  if (ShapeOf(data.get(), name).count() != 1 ||
      H5Dread(data.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value) < 0) {
    Fail("its data set '" + name + "' is not a single number");
  }
  return value;
}

std::string Hdf5BlobReader::Text(const std::string& name) const {
  const Hdf5Handle data(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose);
  if (!data.ok()) Fail("it has no data set '" + name + "'");
  const Hdf5Handle type(H5Dget_type(data.get()), H5Tclose);
  if (H5Tget_class(type.get()) != H5T_STRING || H5Tget_size(type.get()) > kMaxTextBytes ||
      ShapeOf(data.get(), name).count() != 1) {
    Fail("its data set '" + name + "' is not a string");
  }
  std::string text;
  if (H5Tis_variable_str(type.get()) > 0) {  // written by Python
    char* made = nullptr;
    if (H5Dread(data.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, &made) >= 0 &&
        made != nullptr) {
      text = made;
      H5free_memory(made);
    }
  } else {
    text.resize(H5Tget_size(type.get()));
    if (H5Dread(data.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, &text[0]) < 0) {
      Fail("its data set '" + name + "' is damaged");
    }
    text.resize(std::strlen(text.c_str()));  // drops the terminating zero
  }
  return text;
}

std::string Hdf5BlobReader::RootBytes(const std::string& name) const {
  std::string all;
  for (int part = 0;; ++part) {
    const std::string part_name = NameOfPart(name, part);
    if (H5Aexists(file_, part_name.c_str()) <= 0) return all;
    const Hdf5Handle attribute(H5Aopen(file_, part_name.c_str(), H5P_DEFAULT), H5Aclose);
    const Hdf5Handle space(H5Aget_space(attribute.get()), H5Sclose);
    const hssize_t count = H5Sget_simple_extent_npoints(space.get());
    if (count < 0 || count > kMaxRecordBytes) Fail("its attribute '" + part_name + "' is damaged");
    std::string bytes(count, '\0');
    if (H5Aread(attribute.get(), H5T_NATIVE_UINT8, &bytes[0]) < 0) {
      Fail("its attribute '" + part_name + "' is damaged");
    }
    all += bytes;
  }
}

}  // namespace doppio
