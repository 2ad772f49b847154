// Fuzzes the reader of mean images (.binaryproto).
#include "data/augment/mean_file.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string path = doppio::FuzzPath("mean");
  doppio::WriteInput(path, doppio::Text(data, size));
  doppio::AllowErrors([&] { doppio::ReadMeanFile(path).ChannelMeans(); });
  return 0;
}
