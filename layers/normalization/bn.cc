// BN on the CPU, and what it means: see bn_form.h.
#include "layers/normalization/bn_kernel.h"
#include "layers/common/host_loops.h"

namespace doppio {
namespace {

LayerShape InferBn(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const BnForm form = ReadBn(spec, bottoms[0]);
  std::vector<LayerShape> shapes;
  const std::vector<ChainLink> chain = BnChain(form, bottoms[0], &shapes);
  LayerShape shape = form.normalizes ? *FusionTypes::Get().Find(kBnChain)->infer(chain) : shapes[0];
  shape.params.clear();
  const Shape blob{1, bottoms[0][1], 1, 1};
  shape.params.push_back({blob, form.slope, !form.frozen});
  shape.params.push_back({blob, form.bias, !form.frozen});
  if (!form.keeps_running) return shape;
  for (int i = 0; i < 2; ++i) shape.params.push_back({blob, FillerParameter(), false});
  return shape;
}

template <class T>
using Bn = BnKernel<T, HostLoops>;

DOPPIO_REGISTER_LAYER("BN", LayerType{1, 1, 1, 1, false, false, &InferBn});
DOPPIO_REGISTER_KERNEL({"BN", DeviceKind::kCpu, "reference", 0, &MakeForFloat<Bn>, nullptr});

}  // namespace
}  // namespace doppio
