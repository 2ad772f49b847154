// Fuzzes nets in text format: the parser, the upgrades of old formats, and the selection of layers.
#include "core/net/spec/spec.h"
#include "core/net/spec/upgrade.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  doppio::AllowErrors([&] {
    doppio::NetParameter net;
    doppio::FieldPlaces places = doppio::ParseText(doppio::Text(data, size), "net.prototxt", &net);
    doppio::UpgradeNet(&net, &places);
    doppio::MakeNetSpec(net, places, net.state(), doppio::NetOptions());
  });
  return 0;
}
