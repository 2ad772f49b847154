// Fuzzes the reader of layer HDF5Data, which expects the data sets "data" and "label". An input is
// a recipe (hdf5_recipe.h).
#include <vector>

#include "data/source/hdf5.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/hdf5_recipe.h"

namespace {

constexpr int64_t kMostFloats = 1 << 20;  // limit per row; larger ones only take time

void ReadRows(const std::string& list) {
  doppio::Hdf5Options options;
  options.batch = 2;
  options.shuffle = true;
  doppio::Hdf5Rows rows(list, {"data", "label"}, options);
  for (const doppio::Hdf5Rows::Rows& top : rows.current()) {
    if (top.shape.count() > kMostFloats) return;
  }
  for (int batch = 0; batch < 3; ++batch) rows.Next();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string path = doppio::FuzzPath("data.h5"), list = doppio::FuzzPath("list");
  doppio::WriteHdf5(path, doppio::Text(data, size));
  doppio::WriteInput(list, path);
  doppio::AllowErrors([&] { ReadRows(list); });
  return 0;
}
