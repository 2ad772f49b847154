#include "core/device/kind_cuda.h"
#include "tests/testing/test_layers.h"

#include <algorithm>

#include "core/base/random.h"
#include "core/math/dnnl.h"

namespace doppio {

namespace {

// Returns the position of each row-major element in `layout`. Does not support opaque layouts.
std::vector<int64_t> Places(const Shape& shape, const Layout& layout) {
  std::vector<int64_t> places(static_cast<size_t>(shape.count()));
  const int64_t channels = shape.rank() > 1 ? shape[1] : 1,
                inner = shape.rank() > 1 ? shape.count(2) : 1;
  for (int64_t i = 0; i < shape.count(); ++i) {
    const int64_t image = i / (channels * inner), c = i / inner % channels, position = i % inner;
    places[static_cast<size_t>(i)] =
        layout.channels_last() ? (image * inner + position) * channels + c : i;
  }
  return places;
}

}  // namespace

std::vector<double> ReadPlain(const Tensor& tensor, Device* device) {
  if (!tensor) return {};
  if (device != nullptr && !device->properties.host_memory) {
    std::vector<char> host(static_cast<size_t>(tensor.bytes()));
    device->CopyToHost(host.data(), tensor.raw, tensor.bytes());
    return ReadPlain(Tensor(tensor, host.data()));
  }
  const int64_t count = tensor.count();
  if (!tensor.layout.opaque()) {
    std::vector<double> values;
    DispatchReal(tensor.dtype, [&](auto zero) {
      using T = decltype(zero);
      for (int64_t place : Places(tensor.shape, tensor.layout)) {
        values.push_back(static_cast<ComputeType<T>>(tensor.data<T>()[place]));
      }
    });
    return values;
  }
  std::vector<float> plain(static_cast<size_t>(count) + 1);
  CopyTensor(tensor, Tensor({tensor.shape, tensor.dtype, Layout()}, plain.data()));
  return std::vector<double>(plain.begin(), plain.begin() + count);
}

void WritePlain(const std::vector<double>& values, const Tensor& tensor, Device* device) {
  if (device != nullptr && !device->properties.host_memory) {
    std::vector<char> host(static_cast<size_t>(tensor.bytes()));
    WritePlain(values, Tensor(tensor, host.data()));
    device->CopyFromHost(tensor.raw, host.data(), tensor.bytes());
    return;
  }
  DOPPIO_CHECK(
      static_cast<int64_t>(values.size()) == tensor.count(),
      "a test gives " + std::to_string(values.size()) + " values for " + tensor.shape.ToString());
  if (!tensor.layout.opaque()) {
    DispatchReal(tensor.dtype, [&](auto zero) {
      using T = decltype(zero);
      const std::vector<int64_t> places = Places(tensor.shape, tensor.layout);
      for (size_t i = 0; i < values.size(); ++i) {
        tensor.data<T>()[places[i]] = static_cast<T>(static_cast<ComputeType<T>>(values[i]));
      }
    });
    return;
  }
  std::vector<float> plain(values.begin(), values.end());
  plain.push_back(0);
  CopyTensor(Tensor({tensor.shape, tensor.dtype, Layout()}, plain.data()), tensor);
}

int64_t PaddingInUse(const Tensor& tensor) {
  if (!tensor || !tensor.layout.opaque()) return 0;
  auto differs_from_zero = [](double value) { return value != 0; };
  const float* stored = tensor.data<float>();
  const std::vector<double> plain = ReadPlain(tensor);
  return std::count_if(stored, stored + tensor.stored(), differs_from_zero) -
         std::count_if(plain.begin(), plain.end(), differs_from_zero);
}

double ProbeWeight(int bottom, int64_t element) {
  return Random(7, Stream("probe", "", bottom)).Uniform(0, static_cast<uint64_t>(element)) * 2 -
         0.7;
}

TestSource::TestSource(const KernelArgs& args, int block) : device_(args.device) {
  using Tag = dnnl::memory::format_tag;
  for (const Shape& top : args.top_shapes) {
    needs_.tops.emplace_back();
    if (block == kChannelsLast && top.rank() >= 3) needs_.tops.back() = Layout::ChannelsLast();
    if (block <= 0 || top.rank() < 3 || top.rank() > 5) continue;
    const Tag eights[] = {Tag::aBc8b, Tag::aBcd8b, Tag::aBcde8b};
    const Tag sixteens[] = {Tag::aBc16b, Tag::aBcd16b, Tag::aBcde16b};
    needs_.tops.back() =
        LayoutOf(dnnl::memory::desc(DnnlDims(top), dnnl::memory::data_type::f32,
                                    (block == 8 ? eights : sixteens)[top.rank() - 3]));
  }
}

void TestSource::Forward(const Pass&) {
  for (size_t i = 0; i < values.size(); ++i) WritePlain(values[i], t_.tops[i], device_);
}

void TestSource::Backward(const Pass&, const std::vector<bool>&) {
  gradients.clear();
  padding_in_use = 0;
  for (const Tensor& gradient : t_.top_grads) {
    gradients.push_back(ReadPlain(gradient, device_));
    padding_in_use += PaddingInUse(gradient);
  }
  if (t_.param_grads[0]) WritePlain({0}, t_.param_grads[0], device_);
}

TestProbe::TestProbe(const KernelArgs& args) : device_(args.device) {
  for (const TensorSpec& bottom : args.bottoms) needs_.bottoms.push_back(bottom.layout);
}

void TestProbe::Forward(const Pass&) {
  seen.clear();
  padding_in_use = 0;
  double sum = 0;
  for (size_t b = 0; b < t_.bottoms.size(); ++b) {
    seen.push_back(ReadPlain(t_.bottoms[b], device_));
    padding_in_use += PaddingInUse(t_.bottoms[b]);
    for (size_t i = 0; i < seen[b].size(); ++i) {
      sum += ProbeWeight(static_cast<int>(b), static_cast<int64_t>(i)) * seen[b][i];
    }
  }
  WritePlain({sum}, t_.tops[0], device_);
}

void TestProbe::Backward(const Pass&, const std::vector<bool>&) {
  const double weight = ReadPlain(t_.top_grads[0], device_)[0];
  for (size_t b = 0; b < t_.bottoms.size(); ++b) {
    if (!t_.bottom_grads[b]) continue;
    std::vector<double> values(static_cast<size_t>(t_.bottoms[b].count()));
    for (size_t i = 0; i < values.size() && gradient.empty(); ++i) {
      values[i] = weight * ProbeWeight(static_cast<int>(b), static_cast<int64_t>(i));
    }
    WritePlain(b == 0 && !gradient.empty() ? gradient : values, t_.bottom_grads[b], device_);
  }
}

namespace {

LayerShape InferInput(const LayerSpec& spec, const std::vector<Shape>&) {
  LayerShape shape;
  for (const BlobShape& s : spec.param.input_param().shape()) {
    shape.tops.push_back(Shape(std::vector<int64_t>(s.dim().begin(), s.dim().end())));
  }
  shape.has_backward = false;
  shape.persistent_tops = true;
  return shape;
}

LayerShape InferSource(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  LayerShape shape = InferInput(spec, bottoms);
  shape.has_backward = true;
  shape.persistent_tops = shape.backward_reads_tops = false;
  shape.params = {{Shape{1}, FillerParameter(), true}};
  return shape;
}

LayerShape InferProbe(const LayerSpec&, const std::vector<Shape>&) {
  LayerShape shape;
  shape.tops = {Shape{}};
  shape.backward_reads_bottoms = shape.backward_reads_tops = false;
  shape.loss = true;
  return shape;
}

class TestInput : public Kernel {
 public:
  void Forward(const Pass&) override {}
};

std::unique_ptr<Kernel> MakeInput(const KernelArgs&) { return std::make_unique<TestInput>(); }
std::unique_ptr<Kernel> MakeProbe(const KernelArgs& args) {
  return std::make_unique<TestProbe>(args);
}
template <int kBlock>
std::unique_ptr<Kernel> MakeSource(const KernelArgs& args) {
  return std::make_unique<TestSource>(args, kBlock);
}

// Registers the layer under the names of both engines, so that a net can be restricted to one
// engine.
bool RegisterTestLayer(const std::string& name, const LayerType& type,
                       KernelType::MakeFunction make) {
  LayerTypes::Get().Add(name, type);
  return KernelTypes::Get().Add(ReferenceKernel(name, make)) &&
         KernelTypes::Get().Add(KernelType(name, make).Engine("onednn").Rank(1));
}

bool RegisterOnGpu(const std::string& name, KernelType::MakeFunction make) {
  return KernelTypes::Get().Add(
      KernelType(name, make).On(kCudaKind).Engine("cuda").Rank(1).Narrow());
}

const LayerType kSource = LayerType(&InferSource)
                              .Bottoms(0)
                              .Tops(1, kAny)
                              .Reads({"input_param"})
                              .BatchFields({"input_param.shape"});

[[maybe_unused]] const bool registered =
    RegisterTestLayer("TestInput",
                      LayerType(&InferInput)
                          .Bottoms(0)
                          .Tops(1, kAny)
                          .Reads({"input_param"})
                          .BatchFields({"input_param.shape"}),
                      &MakeInput) &&
    RegisterTestLayer("TestSource", kSource, &MakeSource<0>) &&
    RegisterTestLayer("TestSourceBlocked8", kSource, &MakeSource<8>) &&
    RegisterTestLayer("TestSourceBlocked16", kSource, &MakeSource<16>) &&
    LayerTypes::Get().Add("TestSourceLast", kSource) &&
    RegisterOnGpu("TestSourceLast", &MakeSource<TestSource::kChannelsLast>) &&
    RegisterTestLayer("TestProbe", LayerType(&InferProbe).Bottoms(1, kAny).Tops(1), &MakeProbe) &&
    RegisterOnGpu("TestProbe", &MakeProbe);

}  // namespace
}  // namespace doppio
