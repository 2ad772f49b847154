// Fuzzes the reader of solver states in binary files (.solverstate).
#include "core/net/store/solver_state.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string path = doppio::FuzzPath("state.solverstate");
  doppio::WriteInput(path, doppio::Text(data, size));
  doppio::AllowErrors([&] { doppio::ReadSolverState(path); });
  return 0;
}
