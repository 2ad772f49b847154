// SPP: Pooling over ever finer grids of windows, all of it as one vector for each sample.
#include "layers/pooling/spp.h"

#include "layers/common/host_loops.h"

namespace doppio {
namespace {

LayerShape InferSpp(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const std::vector<PlainPooling> levels = ReadPyramid(spec, bottoms[0]);
  LayerShape shape;
  if (levels.size() == 1) {  // nothing to join: the images of Pooling
    shape.tops = {{bottoms[0][0], bottoms[0][1], levels[0].g.h.output, levels[0].g.w.output}};
  } else {
    shape.tops = {{bottoms[0][0], levels[0].top_sample}};
  }
  shape.backward_reads_bottoms = ReadsBottomBackward(levels[0].by);
  shape.backward_reads_tops = false;
  return shape;
}

template <class T>
class Spp : public PlainPoolingKernel<T, HostLoops> {
 public:
  explicit Spp(const KernelArgs& args)
      : PlainPoolingKernel<T, HostLoops>(args, ReadPyramid(*args.spec, args.bottoms[0].shape)) {}
};

DOPPIO_REGISTER_LAYER("SPP", LayerType{1, 1, 1, 1, false, false, &InferSpp});
DOPPIO_REGISTER_KERNEL({"SPP", DeviceKind::kCpu, "reference", 0, &MakeForFloat<Spp>, nullptr});

}  // namespace
}  // namespace doppio
