// Code that layers with a data source share. If a net is built without its data (DataMode),
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
#include "core/net/contract/layer.h"
#include "core/net/contract/combinations.h"
#include "core/net/spec/named_field.h"
#include "layers/common/accelerator_kernel.h"
#include "layers/common/forward_only.h"
#include "layers/source/synthetic.h"

namespace doppio {

// Returns true if the net is built with its data.
inline bool ReadsSource(const LayerSpec& spec) { return spec.options.data == DataMode::kOpen; }

// Returns true if `e` says that the source is missing, so that a net built without its data may
// assume its shape. False for damage, which has a place in a file of the source.
inline bool IsMissingSource(const LayerSpec& spec, const Error& e) {
  return e.code() == ExitCode::kFile && (e.at().line == 0 || e.at().file == spec.At().file);
}

// Returns the shape of a layer with a source and these tops.
inline LayerShape ShapeOfSource(const LayerSpec& spec, std::vector<Shape> tops) {
  LayerShape shape = ForwardOnly(std::move(tops));
  shape.persistent_tops = !ReadsSource(spec);  // synthetic.h writes them once
  return shape;
}

// Returns the features of a layer whose samples may have several sizes if `any_size` is true.
inline std::vector<Feature> FeaturesOfSizes(const LayerSpec& spec, bool any_size, Feature feature) {
  if (!any_size || spec.options.data == DataMode::kSynthetic) return {};
  return {feature};
}

// Returns the number of threads that prepare samples, from --data_threads or from `param`, the
// message in the field `name`; 0: not given. Throws UserError.
template <class Param>
int DataThreadsOf(const LayerSpec& spec, const std::string& name, const Param& param) {
  spec.RefuseIf(param.threads() > kMaxThreads, name + ".threads", "threads needs 0 to ",
                kMaxThreads, "; got ", param.threads());
  if (spec.options.data_threads > 0) return spec.options.data_threads;
  return param.has_threads() ? static_cast<int>(param.threads()) : 0;
}

// Returns f(). Adds the layer's name and the location of `field` to errors that f throws.
template <class F>
auto AtField(const LayerSpec& spec, const std::string& field, F&& f) {
  try {
    return f();
  } catch (const Error& e) {
    RethrowWithContext(e, spec.At(field), "layer '" + spec.name() + "'");
  }
}

// Like AtField, for errors that concern the source at path `source`, or its transformations. A
// FileError has the location of `source`, unless it names a field of annotated_data_param; another
// error has that of the field of transform_param that it names.
template <class F>
auto AtDataField(const LayerSpec& spec, const std::string& source, F&& f) {
  try {
    return f();
  } catch (const Error& e) {
    const bool of_file = e.code() == ExitCode::kFile;
    const std::string inner = source.substr(0, source.find('.')) + ".transform_param";
    const std::string named = of_file
                                  ? NamedField(spec.param, {"annotated_data_param"}, e.message())
                                  : NamedField(spec.param, {"transform_param", inner}, e.message());
    const std::string& field = !named.empty() ? named : of_file ? source : "transform_param";
    RethrowWithContext(e, spec.At(field), "layer '" + spec.name() + "'");
  }
}

// Copies the values at `from` to the top, whose elements have type T.
template <class T>
void CopyTo(const Tensor& top, const float* from) {
  T* to = top.data<T>();
  ParallelFor(top.count(), 1 << 16,
              [&](int64_t begin, int64_t end) { std::copy(from + begin, from + end, to + begin); });
}

// Returns a K<T>, which reads the source on the host, or the kernel that replaces the source by
// synthetic data.
template <class Form, template <class> class K>
std::unique_ptr<Kernel> MakeSource(const KernelArgs& args) {
  return args.Form<Form>().synthetic() ? MakeForFloat<SyntheticKernel>(args)
                                       : MakeForFloat<K>(args);
}

// Returns the layouts of the tops on an accelerator. Images in 16 bits are channels last, because
// the layers that read them are fastest with this layout.
inline std::vector<Layout> LayoutsThere(const KernelArgs& args) {
  std::vector<Layout> layouts;
  for (size_t i = 0; i < args.tops.size(); ++i) {
    const bool last = Is16Bit(args.tops[i]) && args.top_shapes[i].rank() == 4;
    layouts.push_back(last ? Layout::ChannelsLast() : Layout());
  }
  return layouts;
}

// Returns why batches cannot be uploaded to an accelerator, or "".
inline std::string WhyNoUploads(const KernelArgs& args) {
  const bool uploads = BatchUploads::Get().Find(args.device->kind()) != nullptr;
  return uploads ? "" : "devices of kind " + args.device->kind() + " have no uploads";
}

// Returns the kernel that makes synthetic data on an accelerator.
inline std::unique_ptr<Kernel> MakeSyntheticThere(const KernelArgs& args) {
  return std::make_unique<UploadedSyntheticKernel>(args, LayoutsThere(args));
}

// Returns why an accelerator declines a source whose samples are in host memory. Returns "" if the
// data is synthetic.
template <class Form>
std::string DeclinesHostRows(const KernelArgs& args) {
  if (!args.Form<Form>().synthetic()) return "the samples are on the host";
  const std::string why = WhyNoUploads(args);
  return why.empty() ? DeclinesDouble(args) : why;
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SOURCE_SOURCE_LAYER_H_
