// Common parts of layers that read a source. Where a net is built without its data (DataMode),
// layers/source/synthetic.h replaces the source.
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

// Returns f(). Adds the layer and the field's place to errors.
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

// Makes K<T>, which reads the source on the host, or its synthetic replacement.
template <class Form, template <class> class K>
std::unique_ptr<Kernel> MakeSource(const KernelArgs& args) {
  return args.Form<Form>().synthetic() ? MakeForFloat<SyntheticKernel>(args)
                                       : MakeForFloat<K>(args);
}

// Returns the layouts of the tops on a device. 16-bit images are channels last, because their
// readers are fastest with that layout.
inline std::vector<Layout> LayoutsThere(const KernelArgs& args) {
  std::vector<Layout> layouts;
  for (size_t i = 0; i < args.tops.size(); ++i) {
    const bool last = Is16Bit(args.tops[i]) && args.top_shapes[i].rank() == 4;
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

// The reason why a device does not read a source whose samples are in host memory.
template <class Form>
std::string DeclinesHostRows(const KernelArgs& args) {
  return args.Form<Form>().synthetic() ? DeclinesType(args) : "the samples are on the host";
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SOURCE_SOURCE_LAYER_H_
