// Fuzzes the reader of PASCAL VOC's annotations (XML).
#include "data/annotation/voc.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  doppio::AllowErrors([&] { doppio::ParseVoc(doppio::Text(data, size), "a.xml"); });
  return 0;
}
