// A GPU, or its double, gives the numbers of the CPU.
#include "tests/random/layer_row.h"
#include "tests/random/relation.h"
#include "tests/testing/test_gpu.h"

namespace doppio {
namespace {

bool GpuApplies(const RandomCase& random_case) {
  // The table of combinations refuses Muon on a GPU.
  return HasTestGpu() && random_case.solver.type() != "Muon" &&
         HasNone(random_case, LayerRow::kOutside);
}

std::string CheckGpu(const RandomCase& random_case, Draw* draw, const std::string& folder) {
  Way cpu;
  cpu.folder = folder;
  if (draw->Chance(0.5)) cpu.engine = "reference";
  Way gpu;
  gpu.folder = folder;
  gpu.device = &OpenTestGpu;
  gpu.fusion = draw->Chance(0.7);
  return Compared(random_case, Run(random_case, gpu), Run(random_case, cpu), kRounding, folder);
}

DOPPIO_REGISTER(Relations, "gpu", {&CheckGpu, &GpuApplies});

}  // namespace
}  // namespace doppio
