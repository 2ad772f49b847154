#include <algorithm>

#include "core/base/error.h"
#include "core/net/store/hdf5_blobs.h"
#include "core/tensor/hdf5_handle.h"

namespace doppio {
namespace {

// The HDF5 library keeps a file open if closing it failed, tries to close it again at exit, and
// crashes. This call disables the library's exit handler. It must be the first call of the library.
// Doppio has closed all its files by the time the process exits.
const herr_t kNoWorkAtExit = H5dont_atexit();

}  // namespace

Hdf5BlobWriter::Hdf5BlobWriter(const std::string& path)
    : path_(path), file_(-1), make_groups_(-1), untimed_(-1) {
  H5Eset_auto2(H5E_DEFAULT, nullptr,
               nullptr);  // stops the library from printing errors; this is set per thread
  file_ = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  if (file_ < 0) Fail();
  make_groups_ = H5Pcreate(H5P_LINK_CREATE);
  H5Pset_create_intermediate_group(make_groups_, 1);
  // Without time stamps, equal contents give equal files.
  untimed_ = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_obj_track_times(untimed_, false);
}

Hdf5BlobWriter::~Hdf5BlobWriter() {
  if (untimed_ >= 0) H5Pclose(untimed_);
  if (make_groups_ >= 0) H5Pclose(make_groups_);
  if (file_ >= 0) H5Fclose(file_);
}

void Hdf5BlobWriter::Fail() const {
  throw FileError(
      "cannot write '", path_,
      "' as HDF5; check that the folder exists and is writable and that its disk is not full");
}

void Hdf5BlobWriter::Group(const std::string& name) {
  // Creating "block/conv" may have created "block".
  if (Hdf5Handle(H5Gopen2(file_, name.c_str(), H5P_DEFAULT), H5Gclose).ok()) return;
  const Hdf5Handle group(H5Gcreate2(file_, name.c_str(), make_groups_, H5P_DEFAULT, H5P_DEFAULT),
                         H5Gclose);
  if (!group.ok()) Fail();
}

void Hdf5BlobWriter::Write(const std::string& name, const Shape& shape, int64_t file_type,
                           int64_t memory_type, const void* data) {
  const std::vector<hsize_t> dims(shape.dims().begin(), shape.dims().end());
  const Hdf5Handle space(H5Screate_simple(shape.rank(), dims.data(), nullptr), H5Sclose);
  const Hdf5Handle set(
      H5Dcreate2(file_, name.c_str(), file_type, space.get(), make_groups_, untimed_, H5P_DEFAULT),
      H5Dclose);
  if (!set.ok()) Fail();
  if (H5Dwrite(set.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) Fail();
  // The library buffers small values, and closing the data set would not report a full disk.
  if (H5Dflush(set.get()) < 0) Fail();
}

void Hdf5BlobWriter::Blob(const std::string& name, const Shape& shape, const float* data) {
  Write(name, shape, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, data);
}

void Hdf5BlobWriter::AddRows(const std::string& name, const Shape& shape, const float* data) {
  std::vector<hsize_t> dims(shape.dims().begin(), shape.dims().end()), begin(dims.size(), 0);
  if (H5Lexists(file_, name.c_str(), H5P_DEFAULT) <= 0) {
    std::vector<hsize_t> most = dims, chunk = dims, none = dims;
    most[0] = H5S_UNLIMITED;
    none[0] = 0;
    // A chunk must be smaller than 4 GiB, and chunks are read one at a time.
    const int64_t row_bytes = shape.count() / shape[0] * int64_t{sizeof(float)};
    chunk[0] =
        static_cast<hsize_t>(std::clamp<int64_t>((int64_t{16} << 20) / row_bytes, 1, shape[0]));
    const Hdf5Handle space(H5Screate_simple(shape.rank(), none.data(), most.data()), H5Sclose);
    const Hdf5Handle form(H5Pcopy(untimed_), H5Pclose);
    H5Pset_chunk(form.get(), shape.rank(), chunk.data());
    const Hdf5Handle made(H5Dcreate2(file_, name.c_str(), H5T_IEEE_F32LE, space.get(), make_groups_,
                                     form.get(), H5P_DEFAULT),
                          H5Dclose);
    if (!made.ok()) Fail();
  }
  const Hdf5Handle set(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose);
  const Hdf5Handle old(H5Dget_space(set.get()), H5Sclose);
  std::vector<hsize_t> whole(dims.size());
  DOPPIO_CHECK(H5Sget_simple_extent_ndims(old.get()) == shape.rank(), "axes of a row");
  H5Sget_simple_extent_dims(old.get(), whole.data(), nullptr);
  DOPPIO_CHECK(std::equal(whole.begin() + 1, whole.end(), dims.begin() + 1), "shape of a row");
  begin[0] = whole[0];
  whole[0] += dims[0];
  if (H5Dset_extent(set.get(), whole.data()) < 0) Fail();
  const Hdf5Handle to(H5Dget_space(set.get()), H5Sclose);
  const Hdf5Handle from(H5Screate_simple(shape.rank(), dims.data(), nullptr), H5Sclose);
  H5Sselect_hyperslab(to.get(), H5S_SELECT_SET, begin.data(), nullptr, dims.data(), nullptr);
  if (H5Dwrite(set.get(), H5T_NATIVE_FLOAT, from.get(), to.get(), H5P_DEFAULT, data) < 0) Fail();
  if (H5Fflush(file_, H5F_SCOPE_LOCAL) < 0) Fail();
}

void Hdf5BlobWriter::Int(const std::string& name, int64_t value) {
  Write(name, Shape{1}, H5T_STD_I32LE, H5T_NATIVE_INT64, &value);
}

void Hdf5BlobWriter::Text(const std::string& name, const std::string& text) {
  const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), text.size() + 1);
  Write(name, Shape(), type.get(), type.get(), text.c_str());
}

void Hdf5BlobWriter::RootBytes(const std::string& name, const std::string& bytes) {
  constexpr size_t kMax = 60000;  // below the 64 KB that an attribute shares with its header
  size_t first = 0;
  for (int part = 0; part == 0 || first < bytes.size(); ++part) {
    const hsize_t size = std::min(kMax, bytes.size() - first);
    const Hdf5Handle space(H5Screate_simple(1, &size, nullptr), H5Sclose);
    const Hdf5Handle attribute(H5Acreate2(file_, NameOfPart(name, part).c_str(), H5T_STD_U8LE,
                                          space.get(), H5P_DEFAULT, H5P_DEFAULT),
                               H5Aclose);
    if (!attribute.ok() || H5Awrite(attribute.get(), H5T_NATIVE_UINT8, bytes.data() + first) < 0)
      Fail();
    first += size;
  }
}

void Hdf5BlobWriter::Close() {
  const hid_t file = file_;
  file_ = -1;
  if (H5Fclose(file) < 0) Fail();
}

}  // namespace doppio
