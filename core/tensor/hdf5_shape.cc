#include "core/tensor/hdf5_shape.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <filesystem>
#include <set>
#include <vector>

#include "core/base/checked_product.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/tensor/hdf5_handle.h"

namespace doppio {
namespace {

namespace fs = std::filesystem;

double BytesOfElement(hid_t dataset) {
  const Hdf5Handle type(H5Dget_type(dataset), H5Tclose);
  return static_cast<double>(H5Tget_size(type.get()));
}

// The library would wait for a writer of a pipe.
void RefuseExternalPipes(hid_t made) {
  for (int i = 0; i < H5Pget_external_count(made); ++i) {
    char path[PATH_MAX] = "";
    H5Pget_external(made, i, sizeof path - 1, path, nullptr, nullptr);
    RefusePipe(path, "external storage of an HDF5 file");
  }
}

// The extents of a data set; none if it is a scalar or damaged.
std::vector<hsize_t> ExtentsOf(hid_t dataset) {
  const Hdf5Handle space(H5Dget_space(dataset), H5Sclose);
  std::vector<hsize_t> extents(std::max(0, H5Sget_simple_extent_ndims(space.get())));
  H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr);
  return extents;
}

// The library searches its index for each chunk that a data set has by its extents, stored or not:
// about 5 microseconds each, so that a file of some kilobytes would take minutes.
void RefuseMissingChunks(hid_t dataset, hid_t made, const std::string& what) {
  constexpr double kFewChunks = 1 << 16;
  const std::vector<hsize_t> extents = ExtentsOf(dataset);
  std::vector<hsize_t> chunk(extents.size());
  H5Pget_chunk(made, static_cast<int>(chunk.size()), chunk.data());
  double chunks = 1;
  for (size_t i = 0; i < extents.size(); ++i)
    chunks *= std::ceil(static_cast<double>(extents[i]) / static_cast<double>(chunk[i]));
  const hsize_t stored = H5Dget_storage_size(dataset);
  if (chunks <= std::max(kFewChunks, static_cast<double>(stored))) return;
  throw FileError(what, " is divided into ", static_cast<int64_t>(std::min(chunks, 1e18)),
                  " chunks, but the file holds only ", stored, " bytes of them");
}

// Returns the text that `get` (H5Pget_virtual_filename, ...) writes to a buffer.
template <class Get>
std::string TextOf(const Get& get) {
  std::string text(std::max<ssize_t>(0, get(nullptr, 0)), 0);
  get(&text[0], text.size() + 1);
  return text;
}

// Returns the name of a source for block `block`: "%b" stands for its number, "%%" for "%".
std::string NameOfBlock(const std::string& name, int64_t block) {
  std::string text;
  for (size_t i = 0; i < name.size(); ++i) {
    const char next = name[i] == '%' && i + 1 < name.size() ? name[i + 1] : 0;
    text += next == 'b' ? std::to_string(block) : std::string(1, name[i]);
    if (next == 'b' || next == '%') ++i;
  }
  return text;
}

// Returns the existing files among those in which the library may look for a source that a data set
// in `file` names: at its path, or beside the data set's file.
std::set<fs::path> FilesOf(const std::string& file, const fs::path& source) {
  std::error_code ignored;
  std::set<fs::path> files;
  for (const fs::path& name : {source, source.filename()}) {
    for (const fs::path& folder :
         {fs::path(), fs::path(file).parent_path(), fs::canonical(file, ignored).parent_path()}) {
      files.insert(fs::canonical(folder / name, ignored));
    }
  }
  files.erase("");  // the result of canonical() for a file that does not exist
  return files;
}

// Checks where the values of a data set come from. The library reads the sources of virtual data
// sets recursively and without a limit.
class SourceCheck {
 public:
  explicit SourceCheck(const std::string& what) : what_(what) {}

  void Visit(hid_t dataset, int depth) {
    const Hdf5Handle made(H5Dget_create_plist(dataset), H5Pclose);
    RefuseExternalPipes(made.get());
    const H5D_layout_t layout = H5Pget_layout(made.get());
    if (layout == H5D_CHUNKED) RefuseMissingChunks(dataset, made.get(), what_);
    if (layout != H5D_VIRTUAL) return;
    if (depth > kMaxVirtualDepth) {
      throw FileError(what_, " is virtual, and its sources are virtual on more than ",
                      kMaxVirtualDepth,
                      " levels; it may read itself; write its values to an ordinary data set");
    }
    size_t sources = 0;
    H5Pget_virtual_count(made.get(), &sources);
    for (size_t i = 0; i < sources; ++i) {
      const std::string file = TextOf([&](char* text, size_t bytes) {
        return H5Pget_virtual_filename(made.get(), i, text, bytes);
      });
      const std::string set = TextOf([&](char* text, size_t bytes) {
        return H5Pget_virtual_dsetname(made.get(), i, text, bytes);
      });
      const std::string both = file + "/" + set;
      const bool blocks = NameOfBlock(both, 0) != NameOfBlock(both, 1);
      int64_t block = 0;
      while (VisitSource(dataset, NameOfBlock(file, block), NameOfBlock(set, block), depth) &&
             blocks) {
        ++block;
      }
    }
  }

 private:
  // Returns false if there is no such source; the library then reads fill values.
  bool VisitSource(hid_t dataset, const std::string& file, const std::string& set, int depth) {
    if (++sources_ > kMaxVirtualSources) {
      throw FileError(what_, " is virtual and has more than ", kMaxVirtualSources, " sources");
    }
    const auto visit = [&](const Hdf5Handle& opened) {
      const Hdf5Handle source(H5Dopen2(opened.get(), set.c_str(), H5P_DEFAULT), H5Dclose);
      if (source.ok()) Visit(source.get(), depth + 1);
      return source.ok();
    };
    if (file == ".") return visit(Hdf5Handle(H5Iget_file_id(dataset), H5Fclose));
    bool found = false;
    for (const fs::path& path : FilesOf(Hdf5FileOf(dataset), file)) {
      RefusePipe(path.string(), "a source of a virtual data set");
      if (visit(Hdf5Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose)))
        found = true;
    }
    return found;
  }

  const std::string& what_;
  int64_t sources_ = 0;
};

}  // namespace

std::string Hdf5FileOf(hid_t object) {
  return TextOf([&](char* text, size_t bytes) { return H5Fget_name(object, text, bytes); });
}

bool Hdf5IsExternal(hid_t dataset) {
  const Hdf5Handle made(H5Dget_create_plist(dataset), H5Pclose);
  return H5Pget_layout(made.get()) == H5D_VIRTUAL || H5Pget_external_count(made.get()) > 0;
}

Shape Hdf5ShapeOf(hid_t dataset, const std::string& what) {
  const std::vector<hsize_t> dims = ExtentsOf(dataset);
  const auto elements = CheckedProduct(dims);
  if (!elements) {
    throw FileError(what, " has more than the limit of ", kMaxElements, " elements");
  }
  SourceCheck(what).Visit(dataset, 1);
  const hsize_t stored = H5Dget_storage_size(dataset);
  const double wanted = static_cast<double>(*elements) * BytesOfElement(dataset);
  if (*elements > kHdf5AlwaysAllocated && wanted > kMaxDeflated * static_cast<double>(stored) &&
      !Hdf5IsExternal(dataset)) {
    throw FileError(what, " states ", *elements, " elements, but the file holds only ", stored,
                    " bytes of them");
  }
  return Shape(std::vector<int64_t>(dims.begin(), dims.end()));
}

}  // namespace doppio
