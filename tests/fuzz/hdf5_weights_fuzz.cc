// Fuzzes the readers of weights and solver states in HDF5. An input is a recipe (hdf5_recipe.h).
#include "core/net/store/solver_state.h"
#include "core/net/store/weights.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/hdf5_recipe.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string path = doppio::FuzzPath("blobs.h5");
  doppio::WriteHdf5(path, doppio::Text(data, size));
  doppio::AllowErrors([&] { doppio::ReadWeights(path); });
  doppio::AllowErrors([&] { doppio::ReadSolverState(path); });
  return 0;
}
