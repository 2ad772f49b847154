// Tests that `import` makes of an exported net a net that computes the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "core/base/random.h"
#include "layers/activation/activation_ops.h"
#include "tests/tools/onnx_import/onnx_model.h"
#include "tools/onnx/net_run.h"
#include "tools/onnx/onnx_layer.h"
#include "tools/onnx/write_onnx.h"

namespace doppio {
namespace {

// Exports a net with random weights, imports the file, and compares both on random input.
void ExpectRoundTrip(const std::string& layers,
                     const std::string& shape = "dim: 2 dim: 4 dim: 6 dim: 7") {
  SCOPED_TRACE(layers);
  NetParameter parsed;
  const FieldPlaces places =
      ParseText("name: 'n' layer { name: 'x' type: 'Input' top: 'x' input_param { shape { " +
                    shape + " } } } " + layers,
                "net.prototxt", &parsed);
  NetState state;
  state.set_phase(TEST);
  const Graph graph = MakeGraph(MakeNetSpec(parsed, places, state, NetOptions()));
  const std::unique_ptr<Device> device = MakeCpuDevice();
  ParamStore store(device.get(), DType::kFloat32, 1);
  const std::vector<int> index = store.Resolve(graph);
  store.Place(false, {});
  store.Allocate();
  const Random random(1, 2);
  for (const Param& param : store.params()) {
    for (int64_t i = 0; i < param.value.count(); ++i)
      param.value.data<float>()[i] =
          static_cast<float>(0.25 + 0.5 * random.Uniform(static_cast<uint64_t>(param.index),
                                                         static_cast<uint64_t>(i)));
  }
  WeightTensors weights = WeightsOf(index, store, false);
  weights.device = nullptr;
  const OnnxContent content =
      MakeOnnx(graph, weights, std::vector<bool>(graph.edges.size()), OnnxOptions());
  const std::string path = testing::TempDir() + "/trip.onnx";
  WriteOnnx(path, content, {}, false);
  const NetRun wanted = RunOnRandomInput(graph, &store, content);
  ImportedRun imported(ImportOnnxFile(path));
  std::map<std::string, std::vector<float>> inputs;
  for (const NamedArray& input : wanted.inputs)
    inputs[input.name].assign(input.own.begin(), input.own.end());
  for (size_t i = 0; i < wanted.outputs.size(); ++i) {
    const std::vector<float> got = imported.Run(inputs, i);
    const NamedArray& want = wanted.outputs[i];
    ASSERT_EQ(static_cast<int64_t>(got.size()), want.shape.count());
    for (size_t j = 0; j < got.size(); ++j)
      ASSERT_NEAR(got[j], want.own[j], 2e-5 * std::max(1.0f, std::fabs(want.own[j]))) << j;
  }
}

std::string Layer(const std::string& type, const std::string& more = "",
                  const std::string& bottom = "x", const std::string& top = "y") {
  return "layer { name: '" + type + top + "' type: '" + type + "' bottom: '" + bottom + "' top: '" +
         top + "' " + more + " } ";
}

TEST(ImportOfExport, GivesTheSameNet) {
  ExpectRoundTrip(Layer("Convolution",
                        "convolution_param { num_output: 6 group: 2 kernel_h: 2 "
                        "kernel_w: 3 stride_h: 2 stride_w: 1 pad_h: 1 pad_w: 2 }"));
  ExpectRoundTrip(
      Layer("Deconvolution",
            "convolution_param { num_output: 6 group: 2 kernel_size: 4 stride: 2 pad: 1 }"));
  ExpectRoundTrip(Layer("InnerProduct", "inner_product_param { num_output: 5 }"));
  ExpectRoundTrip(Layer("InnerProduct", "inner_product_param { num_output: 5 axis: 2 }"));
  ExpectRoundTrip(Layer("BatchNorm") + Layer("Scale", "scale_param { bias_term: true }", "y", "z"));
  ExpectRoundTrip(Layer("Scale", "scale_param { axis: 2 num_axes: 2 }"));
  ExpectRoundTrip(Layer("LayerNorm", "layer_norm_param { eps: 0.1 axis: 2 }"));
  ExpectRoundTrip(Layer("LayerNorm", "layer_norm_param { bias_term: false }"));
  ExpectRoundTrip(Layer("GroupNorm", "group_norm_param { groups: 2 eps: 0.1 }"));
  ExpectRoundTrip(Layer("InstanceNorm", "instance_norm_param { scale_term: false }"));
  ExpectRoundTrip(Layer("ReLU") +
                  Layer("MatMul", "bottom: 'x' matmul_param { transpose_b: true }", "y", "z"));
  ExpectRoundTrip(Layer("Attention", "bottom: 'x' bottom: 'x' attention_param { heads: 2 }"),
                  "dim: 2 dim: 5 dim: 6");
  ExpectRoundTrip(Layer("LRN", "lrn_param { local_size: 3 alpha: 0.7 beta: 0.6 k: 2 }"));
  ExpectRoundTrip(Layer("Softmax", "softmax_param { axis: 2 }"));
  ExpectRoundTrip(Layer("Flatten") + Layer("Softmax", "", "y", "z"));
  ExpectRoundTrip(Layer("Reshape", "reshape_param { shape { dim: 0 dim: 2 dim: -1 } }"));
  ExpectRoundTrip(Layer("Permute", "permute_param { order: 0 order: 3 order: 1 }"));
  ExpectRoundTrip(Layer("ShuffleChannel", "shuffle_channel_param { group: 2 }"));
  ExpectRoundTrip(Layer("Tile", "tile_param { axis: 1 tiles: 3 }"));
  ExpectRoundTrip(Layer("Upsample", "upsample_param { scale: 2 }"));
  ExpectRoundTrip(Layer("Reduction", "reduction_param { axis: 1 operation: MEAN coeff: 3 }"));
}

TEST(ImportOfExport, GivesTheSameWindows) {
  for (const char* pooling :
       {"pool: MAX kernel_size: 3 stride: 2", "pool: MAX kernel_size: 3 stride: 2 pad: 1",
        "pool: MAX kernel_size: 2 stride: 2 round_mode: FLOOR",
        "pool: AVE kernel_size: 3 stride: 2 round_mode: FLOOR", "pool: AVE global_pooling: true",
        "pool: AVE kernel_size: 3 stride: 2 pad: 1 avg_include_pad: false",
        "pool: MAX global_pooling: true"}) {
    ExpectRoundTrip(Layer("Pooling", "pooling_param { " + std::string(pooling) + " }"));
  }
}

// Returns the types of all activations that export writes.
template <class... Ops>
std::set<std::string> ExportedTypes(const std::tuple<Ops...>*) {
  std::set<std::string> types;
  (void(Ops::kOnnx != nullptr && types.insert(Ops::kType).second), ...);
  return types;
}

TEST(ImportOfExport, GivesTheSameActivations) {
  // Fields of the activations that need some, or that compute nothing without.
  std::map<std::string, std::string> fields = {
      {"Clip", "clip_param { min: -0.5 max: 0.25 }"},
      {"Log", "log_param { shift: 9 }"},
      {"Power", "power_param { power: 2 scale: 3 shift: 0.5 }"}};
  // The inputs are beyond the bends of all activations.
  const std::string input = Layer("Power", "power_param { scale: 8 }");
  for (const std::string& type : ExportedTypes(static_cast<AllActivations*>(nullptr))) {
    if (type == "Threshold") continue;  // import reads no comparisons
    ExpectRoundTrip(input + Layer(type, fields[type], "y", "z"));
  }
  ExpectRoundTrip(Layer("ReLU", "relu_param { negative_slope: 0.3 }"));
  ExpectRoundTrip(Layer("PReLU"));
}

}  // namespace
}  // namespace doppio
