#include "data/source/hdf5_file.h"

#include <hdf5.h>

#include "core/base/content/content_kind.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/library_version.h"
#include "core/base/text/nearest_path.h"
#include "core/tensor/hdf5_handle.h"
#include "core/tensor/hdf5_shape.h"
#include "core/tensor/hdf5_values.h"

namespace doppio {
namespace {

herr_t AddName(hid_t, const char* name, const H5L_info_t*, void* names) {
  *static_cast<std::string*>(names) += std::string(" ") + name;
  return 0;
}

std::string RunningHdf5() {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return DottedVersion(major, minor, release);
}

DOPPIO_REGISTER(Libraries, "HDF5",
                {DottedVersion(H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE), &RunningHdf5});

}  // namespace

Hdf5File::Hdf5File(const std::string& path) : path_(path), file_(-1) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  if (!FileExists(path)) {
    throw FileError("no HDF5 file '", path, "': there is no such file", DidYouMeanPath(path));
  }
  RefusePipe(path, "an HDF5 file");
  file_ = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file_ >= 0) return;
  const std::string found = DescribeContent(ReadHead(path, kKindBytes));
  throw FileError("cannot open '", path, "' as an HDF5 file: ",
                  found.empty() ? "it is damaged or in another format" : found);
}

Hdf5File::~Hdf5File() { H5Fclose(file_); }

std::string Hdf5File::NamesInFile() const {
  std::string names;
  H5Literate(file_, H5_INDEX_NAME, H5_ITER_INC, nullptr, AddName, &names);
  return names.empty() ? " nothing" : names;
}

Shape Hdf5File::ShapeOf(const std::string& dataset) const {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  const Hdf5Handle data(H5Dopen2(file_, dataset.c_str(), H5P_DEFAULT), H5Dclose);
  if (!data.ok()) {
    throw FileError("HDF5 file '", path_, "' has no data set '", dataset, "'; it has",
                    NamesInFile());
  }
  const std::string what = "data set '" + dataset + "' of '" + path_ + "'";
  const std::string found = Hdf5NotNumbers(data.get());
  if (!found.empty()) throw FileError(what, " does not hold numbers, but ", found);
  return Hdf5ShapeOf(data.get(), what);
}

std::vector<float> Hdf5File::Read(const std::string& dataset) const {
  const int64_t count = ShapeOf(dataset).count();
  auto values = WithinMemory(path_, [&] { return std::vector<float>(count); });
  const Hdf5Handle data(H5Dopen2(file_, dataset.c_str(), H5P_DEFAULT), H5Dclose);
  if (!ReadHdf5Floats(data.get(), static_cast<int64_t>(values.size()), values.data())) {
    throw FileError(
        "cannot read data set '", dataset, "' of '", path_,
        "': the file is damaged, or compressed with a filter that this build does not have");
  }
  return values;
}

}  // namespace doppio
