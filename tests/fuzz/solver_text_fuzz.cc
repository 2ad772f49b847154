// Fuzzes solvers in text format, including nets that are embedded in them.
#include "core/net/spec/solver_spec.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string path = doppio::FuzzPath("solver.prototxt");
  doppio::WriteInput(path, doppio::Text(data, size));
  doppio::AllowErrors([&] { doppio::LoadSolver(path); });
  return 0;
}
