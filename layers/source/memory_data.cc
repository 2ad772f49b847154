// MemoryData: reads samples that a program provides in memory (core/net/contract/memory_source.h).
#include <algorithm>
#include <memory>

#include "core/net/contract/layer.h"
#include "core/net/contract/memory_source.h"
#include "core/net/contract/sample_source.h"
#include "layers/source/source_layer.h"

namespace doppio {
namespace {

struct Samples {
  const float* data = nullptr;
  const float* labels = nullptr;
  int64_t count = 0;
};

struct MemoryDataForm {
  bool without_data = false;
  // Shared by all kernels of the layer, because a net may be planned again between two passes.
  std::shared_ptr<Samples> samples = std::make_shared<Samples>();

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
    spec.RefuseIf(extent.second == 0, std::string("memory_data_param.") + extent.first,
                  extent.first, " must be at least 1");
    images.push_back(extent.second);
  }
  LayerShape shape = ShapeOfSource(spec, {images, Shape{images[0]}});
  shape.exact_tops = {false, true};  // top 1 holds labels
  MemoryDataForm form;
  form.without_data = !ReadsSource(spec);
  if (!form.without_data) shape.features = {Feature::kProgramSamples};
  shape.form = std::move(form);
  return shape;
}

template <class T>
class MemoryDataKernel : public Kernel, public SampleSource, public MemorySource {
 public:
  explicit MemoryDataKernel(const KernelArgs& args)
      : samples_(args.Form<MemoryDataForm>().samples) {}

  void SetSamples(const float* data, const float* labels, int64_t samples) override {
    if (data == nullptr || labels == nullptr || samples < 1) {
      throw UserError({}, "MemoryData needs data, labels and at least one sample");
    }
    if (samples_->data != nullptr) position_ = 0;
    *samples_ = {data, labels, samples};
  }

  void Forward(const Pass& pass) override {
    if (samples_->data == nullptr) {
      throw UserError({},
                      "MemoryData gets its samples from a program, but no program has provided "
                      "any; --synthetic generates random samples");
    }
    const Tensor &images = t_.tops[0], &labels = t_.tops[1];
    const int64_t batch = labels.count(), count = images.count() / batch;
    for (int64_t row = 0; row < batch; ++row) {
      const int64_t sample = (position_ + pass.rank * batch + row) % samples_->count;
      std::copy_n(samples_->data + sample * count, count, images.data<T>() + row * count);
      labels.data<T>()[row] = samples_->labels[sample];
    }
    position_ += pass.ranks * batch;
  }

  int64_t position() const override { return position_; }
  void Seek(int64_t sample) override { position_ = sample; }
  int64_t source_size() const override { return samples_->count; }
  std::string NameOfSample(int64_t sample) const override {
    return "sample " + std::to_string(sample % samples_->count) + " of the program";
  }

 private:
  const std::shared_ptr<Samples> samples_;
  int64_t position_ = 0;
};

DOPPIO_REGISTER_LAYER(
    "MemoryData",
    LayerType(&InferMemoryData).Bottoms(0).Tops(2).BatchFields({"memory_data_param.batch_size"}));
DOPPIO_REGISTER_KERNEL(ReferenceKernel("MemoryData",
                                       &MakeSource<MemoryDataForm, MemoryDataKernel>));
DOPPIO_REGISTER_KERNEL(AcceleratorKernel("MemoryData", &MakeSyntheticThere)
                           .Declines(&DeclinesHostRows<MemoryDataForm>)
                           .Narrow());

}  // namespace
}  // namespace doppio
