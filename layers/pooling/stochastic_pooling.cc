// STOCHASTIC Pooling, of which pooling.cc has the meaning.
#include "layers/common/host_loops.h"
#include "layers/pooling/plain_pooling_kernel.h"
#include "layers/pooling/pooling_geometry.h"

namespace doppio {

PlainPooling ReadStochasticPooling(const LayerSpec& spec, const Shape& bottom) {
  PlainPooling pooling;
  pooling.by = PoolByMethod(spec.param.pooling_param().pool(), spec.phase());
  pooling.g = ReadPoolingGeometry(spec, bottom);
  pooling.channels = bottom[1];
  pooling.top_sample = bottom[1] * pooling.g.h.output * pooling.g.w.output;
  pooling.random = Random(spec.options.seed, Stream("pooling", spec.name()));
  return pooling;
}

namespace {
template <class T>
class StochasticPooling : public PlainPoolingKernel<T, HostLoops> {
 public:
  explicit StochasticPooling(const KernelArgs& args)
      : PlainPoolingKernel<T, HostLoops>(
            args, {ReadStochasticPooling(*args.spec, args.bottoms[0].shape)}) {}
};
}  // namespace

std::unique_ptr<Kernel> MakeStochasticPooling(const KernelArgs& args) {
  return MakeForFloat<StochasticPooling>(args);
}

}  // namespace doppio
