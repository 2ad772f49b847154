// MemoryData: reads samples that a program provides in memory (core/net/run/memory_source.h).
#include <algorithm>

#include "core/base/log.h"
#include "core/net/graph/layer.h"
#include "core/net/run/memory_source.h"
#include "layers/source/source_layer.h"

namespace doppio {
namespace {

struct MemoryDataForm {
  bool without_data = false;
  std::string unused_transform;  // location of a transform_param, which has no effect

  bool synthetic() const { return without_data; }
};

LayerShape InferMemoryData(const LayerSpec& spec, const std::vector<Shape>&) {
  const MemoryDataParameter& param = spec.param.memory_data_param();
  const std::pair<const char*, uint32_t> extents[] = {{"batch_size", param.batch_size()},
                                                      {"channels", param.channels()},
                                                      {"height", param.height()},
                                                      {"width", param.width()}};
  Shape images;
  for (const auto& extent : extents) {
    if (extent.second == 0) {
      throw spec.Mistake(std::string("memory_data_param.") + extent.first,
                         std::string(extent.first) + " must be at least 1");
    }
    images.push_back(extent.second);
  }
  LayerShape shape = ShapeOfSource(spec, {images, Shape{images[0]}});
  shape.exact_tops = {false, true};  // top 1 holds labels
  MemoryDataForm form;
  form.without_data = !ReadsSource(spec);
  if (spec.param.has_transform_param())
    form.unused_transform = spec.At("transform_param").ToString();
  shape.form = std::move(form);
  return shape;
}

template <class T>
class MemoryDataKernel : public Kernel, public MemorySource {
 public:
  explicit MemoryDataKernel(const KernelArgs& args) {
    const std::string& place = args.Form<MemoryDataForm>().unused_transform;
    if (place.empty()) return;
    LOG(WARNING) << place << ": layer '" << args.layer
                 << "': transform_param has no effect; the samples are used as they are";
  }

  void SetSamples(const float* data, const float* labels, int64_t samples) override {
    if (data == nullptr || labels == nullptr || samples < 1) {
      throw UserError({}, "MemoryData needs data, labels and at least one sample");
    }
    if (data_ != nullptr) position_ = 0;
    data_ = data;
    labels_ = labels;
    samples_ = samples;
  }

  void Forward(const Pass& pass) override {
    if (data_ == nullptr) {
      throw UserError(
          {},
          "MemoryData gets its samples from a program, but no program has provided any; "
          "--synthetic generates random samples");
    }
    const Tensor &images = t_.tops[0], &labels = t_.tops[1];
    const int64_t batch = labels.count(), count = images.count() / batch;
    for (int64_t row = 0; row < batch; ++row) {
      const int64_t sample = (position_ + pass.rank * batch + row) % samples_;
      std::copy_n(data_ + sample * count, count, images.data<T>() + row * count);
      labels.data<T>()[row] = labels_[sample];
    }
    position_ += pass.ranks * batch;
  }

  int64_t position() const override { return position_; }
  void Seek(int64_t sample) override { position_ = sample; }
  int64_t source_size() const override { return samples_; }

 private:
  const float* data_ = nullptr;
  const float* labels_ = nullptr;
  int64_t samples_ = 0, position_ = 0;
};

DOPPIO_REGISTER_LAYER(
    "MemoryData",
    LayerType(&InferMemoryData).Bottoms(0).Tops(2).BatchFields({"memory_data_param.batch_size"}));
DOPPIO_REGISTER_KERNEL(ReferenceKernel("MemoryData",
                                       &MakeSource<MemoryDataForm, MemoryDataKernel>));
DOPPIO_REGISTER_KERNEL(CudaKernel("MemoryData", &MakeSyntheticThere)
                           .Declines(&DeclinesHostRows<MemoryDataForm>)
                           .Narrow());

}  // namespace
}  // namespace doppio
