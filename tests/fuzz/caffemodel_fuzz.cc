// Fuzzes the reader of weights in binary files (.caffemodel).
#include "core/net/store/weights.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string path = doppio::FuzzPath("weights.caffemodel");
  doppio::WriteInput(path, doppio::Text(data, size));
  doppio::AllowErrors([&] { doppio::ReadWeights(path); });
  return 0;
}
