// Fuzzes the readers of named arrays, .npz and .safetensors. The first byte chooses the format.
#include "tests/fuzz/fuzz_input.h"
#include "tools/export/read_arrays.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const bool zip = data[0] % 2 == 0;
  const std::string path = doppio::FuzzPath(zip ? "arrays.npz" : "arrays.safetensors");
  doppio::WriteInput(path, doppio::Text(data + 1, size - 1));
  doppio::AllowErrors(
      [&] { zip ? doppio::ReadNpzArrays(path) : doppio::ReadSafetensorsArrays(path); });
  return 0;
}
