// SPP, spatial pyramid pooling (He et al., "Spatial Pyramid Pooling in Deep Convolutional Networks
// for Visual Recognition", 2014): level l pools into 2^l x 2^l windows. The top has one vector per
// sample, in which the levels follow each other.
#include "core/net/contract/layer.h"
#include "layers/common/bottom_checks.h"
#include "layers/common/host_loops.h"
#include "layers/pooling/plain_pooling_kernel.h"
#include "layers/pooling/pooling_form.h"

namespace doppio {
namespace {

// Returns the windows of one level, as in Caffe: they have equal size and do not overlap, and half
// of the padding that they need is on each side.
PoolingAxis PyramidAxis(const LayerSpec& spec, int64_t input, int64_t windows) {
  PoolingAxis axis;
  axis.input = input;
  axis.kernel = axis.stride = (input + windows - 1) / windows;
  axis.pad = (axis.kernel * windows - input + 1) / 2;
  spec.RefuseIf(axis.pad >= axis.kernel, "spp_param.pyramid_height", "a level of the pyramid has ",
                windows, " windows along an axis of ", input, "; use a smaller pyramid_height");
  axis.output = CountWindows(axis, false, axis.pad > 0);
  return axis;
}

std::vector<PlainPooling> ReadPyramid(const LayerSpec& spec, const Shape& bottom) {
  const SPPParameter& p = spec.param.spp_param();
  constexpr int64_t kMostLevels = 30;
  CheckImages(spec, bottom);
  spec.RefuseIf(p.pyramid_height() < 1 || p.pyramid_height() > kMostLevels,
                "spp_param.pyramid_height", "pyramid_height must be 1 to ", kMostLevels, ", found ",
                p.pyramid_height());
  std::vector<PlainPooling> levels;
  int64_t in_sample = 0;
  for (uint32_t level = 0; level < p.pyramid_height(); ++level) {
    PlainPooling pooling;
    pooling.by = PoolByMethod(p.pool() == SPPParameter::MAX, p.pool() == SPPParameter::AVE,
                              spec.phase() == TRAIN);
    pooling.g.planes = bottom[0] * bottom[1];
    pooling.g.h = PyramidAxis(spec, bottom[2], int64_t{1} << level);
    pooling.g.w = PyramidAxis(spec, bottom[3], int64_t{1} << level);
    if (p.pool() == SPPParameter::STOCHASTIC && pooling.g.h.pad + pooling.g.w.pad > 0) {
      throw spec.Mistake("spp_param.pool", StrCat("STOCHASTIC pooling has no padding, which ",
                                                  int64_t{1} << level, " windows over ", bottom[2],
                                                  "x", bottom[3], " need; use MAX or AVE"));
    }
    pooling.channels = bottom[1];
    pooling.top_first = in_sample;
    pooling.random = Random(spec.options.seed, Stream("pooling", spec.name()));
    in_sample += bottom[1] * pooling.g.h.output * pooling.g.w.output;
    levels.push_back(pooling);
  }
  for (PlainPooling& pooling : levels) pooling.top_sample = in_sample;
  return levels;
}

LayerShape InferSpp(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const std::vector<PlainPooling> levels = ReadPyramid(spec, bottoms[0]);
  LayerShape shape;
  shape.form = SppForm{levels};
  if (levels.size() == 1) {  // one level has the top shape of Pooling
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
      : PlainPoolingKernel<T, HostLoops>(args, args.Form<SppForm>().levels) {}
};

DOPPIO_REGISTER_LAYER("SPP", LayerType(&InferSpp).Bottoms(1).Tops(1).DrawnAs("pooling"));
DOPPIO_REGISTER_KERNEL(ReferenceKernel<Spp>("SPP"));

}  // namespace
}  // namespace doppio
