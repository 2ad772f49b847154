// Fuzzes the reader of COCO's annotations (JSON).
#include "data/annotation/coco.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  doppio::AllowErrors([&] { doppio::ParseCoco(doppio::Text(data, size), "a.json", ""); });
  return 0;
}
