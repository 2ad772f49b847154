// Interp (DeepLab, PSPNet): images resized bilinearly, to a size or by a factor, corners aligned.
#include "layers/common/host_loops.h"
#include "layers/shape/interp_kernel.h"

namespace doppio {
namespace {

LayerShape InferInterp(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const InterpForm form = ReadInterp(spec, bottoms[0]);
  LayerShape shape;
  shape.tops = {{bottoms[0][0], bottoms[0][1], form.h.output, form.w.output}};
  shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  if (shape.tops[0] == bottoms[0] && form.h.extent == form.h.input &&
      form.w.extent == form.w.input) {
    shape.view = View::kSame;
  }
  return shape;
}

template <class T>
using Interp = InterpKernel<T, HostLoops>;

DOPPIO_REGISTER_LAYER("Interp", LayerType{1, 1, 1, 1, false, false, &InferInterp});
DOPPIO_REGISTER_KERNEL({"Interp", DeviceKind::kCpu, "reference", 0, &MakeForFloat<Interp>,
                        nullptr});

}  // namespace
}  // namespace doppio
