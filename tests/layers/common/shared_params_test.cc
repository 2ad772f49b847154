// Nets over the same parameters are planned one after another, for other batches and threads: test
// nets, micro-batches, partial last batches. The first plan fixes the layouts of the parameters,
// and every kernel must compute with them.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/base/threads.h"
#include "core/net/contract/fusion.h"
#include "layers/convolution/conv_geometry.h"
#include "layers/convolution/image_lanes.h"
#include "tests/layers/common/fusion_case.h"

namespace doppio {
namespace {

constexpr char kConv[] = "convolution_param { num_output: % kernel_size: 3 pad: 1 }";

// The fields and bottoms of the layer types that have parameters, or follow such layers in chains.
// In fields, % stands for the channels of `x` and `other`; in bottoms, for the blob before.
struct Body {
  std::string fields, bottoms = "bottom: '%' ";
};
const std::map<std::string, Body>& Bodies() {
  static const std::map<std::string, Body> bodies = [] {
    const Body sequence{"recurrent_param { num_output: 5 }", "bottom: '%' bottom: 'follows' "};
    std::map<std::string, Body> all = {
        {"BN", {}},
        {"BatchNorm", {}},
        {"Bias", {}},
        {"Deconvolution", {kConv}},
        {"Eltwise", {"", "bottom: '%' bottom: 'other' "}},
        {"Embed", {"embed_param { num_output: 5 input_dim: 9 }"}},
        {"GroupNorm", {"group_norm_param { groups: 1 }"}},
        {"InnerProduct", {"inner_product_param { num_output: 20 }"}},
        {"InstanceNorm", {}},
        {"LSTM", sequence},
        {"LayerNorm", {}},
        {"Normalize", {}},
        {"PReLU", {}},
        {"Parameter", {"parameter_param { shape { dim: 3 } }", ""}},
        {"Pooling", {"pooling_param { kernel_size: 2 stride: 2 }"}},
        {"RNN", sequence},
        {"ReLU", {}},
        {"Scale", {"scale_param { bias_term: true }"}},
    };
    for (const char* type : kConvolutionTypes) all[type] = {kConv};
    return all;
  }();
  return bodies;
}

std::string Dims(const std::vector<int64_t>& dims) {
  std::string text = " shape {";
  for (int64_t dim : dims) text += " dim: " + std::to_string(dim);
  return text + " }";
}

// Returns `text` with `value` in place of %.
std::string With(std::string text, const std::string& value) {
  const size_t at = text.find('%');
  return at == std::string::npos ? text : text.replace(at, 1, value);
}

// Returns a net of the layers in `unit`, such as "Convolution+ReLU", or "" if Bodies() lacks one.
std::string NetOf(const std::string& unit, int64_t batch, int64_t channels) {
  const std::vector<int64_t> images = {batch, channels, 12, 12};
  std::string text =
      "layer { name: 'in' type: 'TestInput' top: 'x' top: 'other' top: 'follows' input_param {" +
      Dims(images) + Dims(images) + Dims({batch, channels}) + " } }\n";
  std::string bottom = "x";
  for (size_t begin = 0, end = 0; end < unit.size(); begin = end + 1) {
    end = std::min(unit.find('+', begin), unit.size());
    const std::string type = unit.substr(begin, end - begin), top = "y" + std::to_string(begin);
    const auto body = Bodies().find(type);
    if (body == Bodies().end()) return "";
    text += "layer { name: '" + top + "' type: '" + type + "' " +
            With(body->second.bottoms, bottom) + "top: '" + top + "' " +
            With(body->second.fields, std::to_string(channels)) + " }\n";
    bottom = top;
  }
  return text + "layer { name: 'probe' type: 'TestProbe' bottom: '" + bottom + "' top: 'l' }\n";
}

// The circumstances of a plan.
struct Setting {
  int64_t batch = 0;
  int threads = 0;
  std::string engine;
  Phase phase = TRAIN;
  DType stored = DType::kFloat32;
};

std::ostream& operator<<(std::ostream& out, const Setting& s) {
  return out << "batch " << s.batch << ", " << s.threads << " threads, engine '" << s.engine
             << "', " << (s.phase == TRAIN ? "TRAIN, " : "TEST, ") << Name(s.stored);
}

void PlanOver(const std::string& unit, int64_t channels, const Setting& s, ParamStore* store) {
  const ThreadCount threads(s.threads);
  const Graph graph = GraphFromText(NetOf(unit, s.batch, channels), s.phase, s.stored);
  PlanOptions options;
  options.device = store->device();
  options.backward = s.phase == TRAIN;
  options.engine = s.engine;
  MakePlan(graph, options, store);
}

// Expects that a net can be planned after another one over the same parameters.
void ExpectBoth(const std::string& unit, int64_t channels, const Setting& first,
                const Setting& second) {
  const std::unique_ptr<Device> device = MakeCpuDevice();
  ParamStore store(device.get(), DType::kFloat32, 1);
  PlanOver(unit, channels, first, &store);
  EXPECT_NO_THROW(PlanOver(unit, channels, second, &store))
      << unit << " of " << channels << " channels: " << second << " after " << first;
}

std::set<std::string> EnginesOf(const std::string& unit) {
  std::set<std::string> engines = {""};
  for (const KernelType* type : KernelTypes::Get().For(unit, DeviceKind::kCpu))
    engines.insert(type->engine);
  for (const KernelType* type :
       KernelTypes::Get().For(unit.substr(0, unit.find('+')), DeviceKind::kCpu))
    engines.insert(type->engine);
  return engines;
}

// Returns the layer types and chains that have parameters.
std::vector<std::string> UnitsWithParams() {
  std::vector<std::string> names = LayerTypes::Get().Names(), units;
  const std::vector<std::string> chains = FusionTypes::Get().Names();
  names.insert(names.end(), chains.begin(), chains.end());
  for (const std::string& name : names) {
    const std::string text = NetOf(name, 1, 16);
    if (!text.empty() && !GraphFromText(text).params.empty()) units.push_back(name);
  }
  return units;
}

TEST(SharedParams, AreReadByNetsOfAnyBatchAndThreads) {
  std::vector<Setting> settings;
  for (int64_t batch : {1, 100}) {
    for (int threads : {1, 5}) {
      settings.push_back({batch, threads, "", TRAIN});
      settings.push_back({batch, threads, "", TEST});
    }
  }
  const std::vector<std::string> units = UnitsWithParams();
  EXPECT_GT(units.size(), 25u);
  for (const std::string& unit : units) {
    for (int64_t channels : {3, 16}) {
      for (const Setting& first : settings) {
        for (const Setting& second : settings) {
          if (first.phase == TRAIN) ExpectBoth(unit, channels, first, second);
        }
      }
    }
  }
}

TEST(SharedParams, AreReadByTheKernelsOfAllEnginesInAllPrecisions) {
  for (const std::string& unit : UnitsWithParams()) {
    const std::set<std::string> engines = EnginesOf(unit);
    for (const std::string& first : engines) {
      for (const std::string& second : engines) {
        for (DType stored : {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
          ExpectBoth(unit, 16, {16, 1, first, TRAIN}, {32, 2, second, TRAIN, stored});
          ExpectBoth(unit, 16, {16, 1, first, TRAIN, stored}, {1, 2, second, TEST});
        }
      }
    }
  }
}

// A new layer with parameters needs an entry in Bodies().
TEST(SharedParams, AreThoseOfAllTypes) {
  for (const std::string& type : LayerTypes::Get().Names()) {
    if (Bodies().count(type) > 0 || type.rfind("Test", 0) == 0) continue;
    try {
      const Graph graph = GraphFromText(
          "layer { name: 'in' type: 'TestInput' top: 'x' input_param {" + Dims({2, 4, 6, 6}) +
          " } } layer { name: 'y' type: '" + type + "' bottom: 'x' top: 'y' }");
      EXPECT_TRUE(graph.params.empty()) << type;
    } catch (const Error&) {
      // The layer has required fields, or another number of bottoms.
    }
  }
}

// The results of two passes, of which the second adds to the gradients.
struct Numbers {
  std::vector<double> top;
  std::map<std::string, std::vector<double>> gradients;
  bool copies = false;  // a kernel computes with copies
};

Numbers NumbersOver(const std::string& text, const std::string& engine, ParamStore* store) {
  PlanOptions options;
  options.device = store->device();
  options.backward = true;
  options.engine = engine;
  Net net(GraphFromText(text), options, store);
  const Buffer& scratch = net.plan().buffers->scratch[0];
  std::fill_n(static_cast<char*>(scratch.data()), scratch.bytes(), static_cast<char>(0xff));
  auto& source = dynamic_cast<TestSource&>(*net.plan().kernel(0));
  const Shape& shape = net.plan().tensors[0].tops[0].shape;
  const Random random(3, Stream("bottom", ""));
  source.values.emplace_back();
  for (int64_t i = 0; i < shape.count(); ++i)
    source.values[0].push_back(random.Uniform(0, static_cast<uint64_t>(i)) - 0.5);
  for (bool again : {false, true}) {
    net.Forward();
    net.Backward(again);
  }
  Numbers numbers;
  const int last = static_cast<int>(net.graph().nodes.size()) - 1;
  numbers.top = dynamic_cast<TestProbe&>(*net.plan().kernel(last)).seen[0];
  for (const Param& param : store->params())
    numbers.gradients[param.layer + std::to_string(param.index)] = ReadPlain(param.grad);
  numbers.gradients["bottom"] = source.gradients[0];
  for (int n = 0; n <= last; ++n)
    numbers.copies = numbers.copies ||
                     (net.plan().kernel(n) != nullptr && net.plan().kernel(n)->inner() != nullptr);
  return numbers;
}

std::string Source(int64_t batch, int64_t channels) {
  return "layer { name: 'in' type: 'TestSource' top: 'x' input_param {" +
         Dims({batch, channels, 12, 12}) + " } }\n";
}
std::string LayerText(const std::string& type, const std::string& bottom, const std::string& top,
                      const std::string& fields) {
  return "layer { name: '" + top + "' type: '" + type + "' bottom: '" + bottom + "' top: '" + top +
         "' " + fields + " }\n";
}
const char kProbe[] = "layer { name: 'probe' type: 'TestProbe' bottom: 'y' top: 'l' }\n";

// Expects of `layers`, over parameters that a net of another batch has placed, the numbers of the
// reference kernels.
void ExpectNumbers(const std::string& layers, int64_t channels, const std::string& first,
                   const std::string& second, bool copies) {
  SCOPED_TRACE(layers + second + " after " + first);
  const int64_t batch = image_lanes::kImages * NumThreads();
  const std::unique_ptr<Device> device = MakeCpuDevice();
  ParamStore store(device.get(), DType::kFloat32, 5), alone(device.get(), DType::kFloat32, 5);
  NumbersOver(Source(1, channels) + layers + kProbe, first, &store);
  const std::string text = Source(batch, channels) + layers + kProbe;
  const Numbers got = NumbersOver(text, second, &store);
  const Numbers want = NumbersOver(text, "reference", &alone);
  // On some CPUs, oneDNN keeps the weights plain, and no copies are needed.
  EXPECT_TRUE(copies || !got.copies);
  ExpectClose(got.top, want.top, 2e-5, "top");
  ExpectClose(got.gradients, want.gradients, 2e-5);
}

const char kRandomConv[] =
    "convolution_param { num_output: 20 kernel_size: 5 weight_filler { type: 'xavier' } "
    "bias_filler { type: 'uniform' min: -1 } }";

TEST(SharedParams, GiveChainsTheSameNumbersWithCopies) {
  const std::string layers =
      LayerText("Convolution", "x", "conv", kRandomConv) +
      LayerText("Pooling", "conv", "y", "pooling_param { kernel_size: 2 stride: 2 }");
  ExpectNumbers(layers, 3, "onednn", "fused", true);
  ExpectNumbers(layers, 3, "fused", "onednn", false);
}

TEST(SharedParams, GiveAllEnginesTheSameNumbers) {
  const std::string product =
      "inner_product_param { num_output: 32 weight_filler { type: 'xavier' } }";
  for (const std::string& layers : {LayerText("Convolution", "x", "y", kRandomConv),
                                    LayerText("Deconvolution", "x", "y", kRandomConv),
                                    LayerText("Convolution", "x", "c", kRandomConv) +
                                        LayerText("InnerProduct", "c", "y", product)}) {
    ExpectNumbers(layers, 16, "onednn", "reference", true);
    ExpectNumbers(layers, 16, "reference", "onednn", false);
  }
}

}  // namespace
}  // namespace doppio
