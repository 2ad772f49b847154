#include "tests/fuzz/hdf5_recipe.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <sstream>
#include <vector>

#include "core/tensor/hdf5_handle.h"

namespace doppio {
namespace {

constexpr hsize_t kMostNumbers = 4096;  // larger data sets stay unwritten
constexpr size_t kMostLines = 30;       // more lines only take time

// Writes the file. Skips parts of the recipe that HDF5 refuses.
class Writer {
 public:
  explicit Writer(const std::string& path)
      : file_(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose),
        make_groups_(H5Pcreate(H5P_LINK_CREATE), H5Pclose) {
    H5Pset_create_intermediate_group(make_groups_.get(), 1);
  }

  void Group(const std::string& name) {
    Hdf5Handle(H5Gcreate2(file_.get(), name.c_str(), make_groups_.get(), H5P_DEFAULT, H5P_DEFAULT),
               H5Gclose);
  }

  void Set(const std::string& name, hid_t type, const std::vector<hsize_t>& dims, bool packed) {
    const Hdf5Handle layout(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    if (packed && !dims.empty()) {
      std::vector<hsize_t> chunk(dims.size(), 1);
      chunk.back() = std::clamp(dims.back(), hsize_t{1}, hsize_t{8});
      H5Pset_chunk(layout.get(), static_cast<int>(chunk.size()), chunk.data());
      H5Pset_deflate(layout.get(), 1);
    }
    const Hdf5Handle space(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr),
                           H5Sclose);
    const Hdf5Handle set(H5Dcreate2(file_.get(), name.c_str(), type, space.get(),
                                    make_groups_.get(), layout.get(), H5P_DEFAULT),
                         H5Dclose);
    hsize_t count = 1;
    for (const hsize_t dim : dims) {
      if (dim > kMostNumbers || count * dim > kMostNumbers) return;
      count *= dim;
    }
    std::vector<float> values(static_cast<size_t>(count));
    std::iota(values.begin(), values.end(), 0.0f);
    H5Dwrite(set.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  }

  void Text(const std::string& name, const std::string& text, bool variable) {
    const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type.get(), variable ? H5T_VARIABLE : text.size() + 1);
    const Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose);
    const Hdf5Handle set(H5Dcreate2(file_.get(), name.c_str(), type.get(), space.get(),
                                    make_groups_.get(), H5P_DEFAULT, H5P_DEFAULT),
                         H5Dclose);
    const char* const pointer = text.c_str();
    const void* const data = variable ? static_cast<const void*>(&pointer) : pointer;
    H5Dwrite(set.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
  }

  void Link(const std::string& name, const std::string& target) {
    H5Lcreate_hard(file_.get(), target.c_str(), file_.get(), name.c_str(), make_groups_.get(),
                   H5P_DEFAULT);
  }

  void Bytes(const std::string& name, const std::string& bytes) {
    const hsize_t count = bytes.size();
    const Hdf5Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose);
    const Hdf5Handle attribute(
        H5Acreate2(file_.get(), name.c_str(), H5T_STD_U8LE, space.get(), H5P_DEFAULT, H5P_DEFAULT),
        H5Aclose);
    H5Awrite(attribute.get(), H5T_NATIVE_UINT8, bytes.data());
  }

 private:
  const Hdf5Handle file_, make_groups_;
};

// Returns the HDF5 type of a recipe's type name. An unknown name gives an opaque type, which
// readers reject.
hid_t TypeOf(const std::string& name) {
  static const std::map<std::string, hid_t> types = {
      {"i1", H5T_STD_I8LE},   {"u2", H5T_STD_U16LE},  {"i8", H5T_STD_I64LE},
      {"f4", H5T_IEEE_F32LE}, {"f8", H5T_IEEE_F64LE}, {"F8", H5T_IEEE_F64BE}};
  static const hid_t opaque = H5Tcreate(H5T_OPAQUE, 2);
  const auto found = types.find(name);
  return found == types.end() ? opaque : found->second;
}

// Parses dims: "2x3" gives {2, 3}; "" gives {}, a scalar.
std::vector<hsize_t> DimsOf(const std::string& text) {
  std::vector<hsize_t> dims;
  std::istringstream numbers(text);
  for (hsize_t dim; numbers >> dim; numbers.ignore(1)) dims.push_back(dim);
  return dims;
}

void Add(const std::string& line, Writer* out) {
  std::istringstream words(line);
  std::string what, name, first, second;
  words >> what >> name >> std::ws;
  if (what == "bytes") {
    std::getline(words, first, '\0');
    return out->Bytes(name, first);
  }
  words >> first >> second;
  if (what == "group") out->Group(name);
  if (what == "set" || what == "packed")
    out->Set(name, TypeOf(first), DimsOf(second), what == "packed");
  if (what == "text" || what == "variable") out->Text(name, first, what == "variable");
  if (what == "link") out->Link(name, first);
}

}  // namespace

void WriteHdf5(const std::string& path, const std::string& recipe) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  Writer out(path);
  std::istringstream lines(recipe);
  std::string line;
  for (size_t i = 0; i < kMostLines && std::getline(lines, line); ++i) Add(line, &out);
}

}  // namespace doppio
