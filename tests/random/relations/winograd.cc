// Winograd's filtering gives the numbers of direct convolution, up to its larger rounding
// (docs/performance.md).
#include <algorithm>

#include "tests/random/relation.h"

namespace doppio {
namespace {

constexpr double kWinogradRounding = 1e-4;

bool HasConvolution(const RandomCase& random_case) {
  const auto& layers = random_case.net.layer();
  return std::any_of(layers.begin(), layers.end(), [](const LayerParameter& layer) {
    return layer.type().find("onvolution") != std::string::npos;
  });
}

std::string CheckWinograd(const RandomCase& random_case, Draw*, const std::string& folder) {
  Way on, off;
  on.folder = off.folder = folder;
  on.engine_options["winograd"] = "on";
  off.engine_options["winograd"] = "off";
  return Compared(random_case, Run(random_case, on), Run(random_case, off), kWinogradRounding,
                  folder);
}

DOPPIO_REGISTER(Relations, "winograd", {&CheckWinograd, &HasConvolution});

}  // namespace
}  // namespace doppio
