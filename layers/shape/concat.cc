// Concat: the bottoms side by side along an axis.
#include "layers/shape/join.h"
#include "layers/shape/joined_axis.h"

namespace doppio {
namespace {

LayerShape InferConcat(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const int axis = ConcatAxis(spec, bottoms[0]);
  LayerShape shape;
  Shape top = bottoms[0];
  for (size_t i = 1; i < bottoms.size(); ++i) {
    Shape other = bottoms[i];
    if (other.rank() == top.rank()) other[axis] = bottoms[0][axis];
    if (other != bottoms[0]) {
      const int index = static_cast<int>(i);
      throw spec.Mistake("bottom",
                         "bottom '" + spec.param.bottom(index) + "' is " + bottoms[i].ToString() +
                             ", bottom '" + spec.param.bottom(0) + "' is " + bottoms[0].ToString() +
                             "; they may differ in axis " + std::to_string(axis) +
                             " only, the one that Concat joins",
                         index);
    }
    top[axis] += bottoms[i][axis];
  }
  shape.tops = {top};
  shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  if (bottoms.size() == 1) shape.view = View::kSame;
  return shape;
}

std::unique_ptr<Kernel> MakeConcat(const KernelArgs& args) {
  std::vector<Shape> parts;
  for (const TensorSpec& bottom : args.bottoms) parts.push_back(bottom.shape);
  return std::make_unique<JoinKernel>(
      MakePlainJoin(parts, ConcatAxis(*args.spec, parts[0]), args.dtype), true);
}

DOPPIO_REGISTER_LAYER("Concat", LayerType{1, kAny, 1, 1, false, false, &InferConcat});
DOPPIO_REGISTER_KERNEL({"Concat", DeviceKind::kCpu, "reference", 0, &MakeConcat, nullptr});

}  // namespace
}  // namespace doppio
