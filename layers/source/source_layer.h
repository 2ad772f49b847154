// What layers that read a source have in common. Where a net is built without its data (DataMode),
// layers/source/synthetic.h stands in for the source.
#ifndef DOPPIO_LAYERS_SOURCE_SOURCE_LAYER_H_
#define DOPPIO_LAYERS_SOURCE_SOURCE_LAYER_H_

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/threads.h"
#include "core/net/graph/layer.h"
#include "layers/source/synthetic.h"

namespace doppio {

inline bool ReadsSource(const LayerSpec& spec) { return spec.options.data == DataMode::kOpen; }

inline LayerShape ShapeOfSource(const LayerSpec& spec, std::vector<Shape> tops) {
  LayerShape shape;
  shape.tops = std::move(tops);
  shape.has_backward = shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  shape.persistent_tops = !ReadsSource(spec);  // written once, see synthetic.h
  return shape;
}

// Runs `f` and names the layer, and the field's place, in what it throws.
template <class F>
auto AtField(const LayerSpec& spec, const std::string& field, F&& f) {
  try {
    return f();
  } catch (const Error& e) {
    RethrowWithContext(e, spec.At(field), "layer '" + spec.name() + "'");
  }
}

template <class T>
void CopyTo(const Tensor& top, const float* from) {
  T* to = top.data<T>();
  ParallelFor(top.count(), 1 << 16,
              [&](int64_t begin, int64_t end) { std::copy(from + begin, from + end, to + begin); });
}

// K<T>, a kernel of the host that reads the source.
template <template <class> class K>
std::unique_ptr<Kernel> MakeSource(const KernelArgs& args) {
  return ReadsSource(*args.spec) ? MakeForFloat<K>(args) : MakeForFloat<SyntheticKernel>(args);
}

// On a device, what is stored in 16 bits has its channels last: what reads images in these types is
// fastest so.
inline std::vector<Layout> LayoutsThere(const KernelArgs& args) {
  std::vector<Layout> layouts;
  for (size_t i = 0; i < args.tops.size(); ++i) {
    const bool last = Is16Bit(args.tops[i]) && args.shape->tops[i].rank() == 4;
    layouts.push_back(last ? Layout::ChannelsLast() : Layout());
  }
  return layouts;
}

inline std::unique_ptr<Kernel> MakeSyntheticThere(const KernelArgs& args) {
  return std::make_unique<UploadedSyntheticKernel>(args, LayoutsThere(args));
}

inline std::string DeclinesType(const KernelArgs& args) {
  return args.dtype == DType::kFloat32 ? "" : std::string("it has no ") + Name(args.dtype);
}

// Why a source whose samples only the host has is not read on a device.
inline std::string DeclinesHostRows(const KernelArgs& args) {
  return ReadsSource(*args.spec) ? "the samples are on the host" : DeclinesType(args);
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SOURCE_SOURCE_LAYER_H_
