// Fuzzes the export of nets to ONNX: shape inference, the checks of each layer, and the graph. All
// weights are zero.
#include "core/net/spec/upgrade.h"
#include "core/net/store/weights.h"
#include "tests/fuzz/fuzz_input.h"
#include "tools/nets/deploy_net.h"
#include "tools/onnx/onnx_layer.h"

namespace {

constexpr int64_t kMostWeights = 1 << 18;  // limit per parameter; larger ones only take time

void Export(const std::string& text) {
  doppio::NetParameter net;
  doppio::FieldPlaces places = doppio::ParseText(text, "net.prototxt", &net);
  doppio::UpgradeNet(&net, &places);
  doppio::NetOptions options;
  options.phase = doppio::TEST;
  options.data = doppio::DataMode::kAssume;
  doppio::NetSpec spec = doppio::MakeNetSpec(net, places, net.state(), options);
  doppio::ReplaceLosses(&spec);
  const doppio::Graph graph = doppio::MakeGraph(std::move(spec));
  std::vector<float> zeros(kMostWeights);
  doppio::WeightTensors weights;
  for (const doppio::GraphParam& param : graph.params) {
    if (param.shape.count() > kMostWeights) return;
    weights.values.emplace_back(
        doppio::TensorSpec{param.shape, doppio::DType::kFloat32, doppio::Layout()}, zeros.data());
  }
  for (const bool fold : {false, true}) {
    doppio::OnnxOptions how;
    how.fold_bn = fold;
    doppio::MakeOnnx(graph, weights, std::vector<bool>(graph.edges.size()), how);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  doppio::AllowErrors([&] { Export(doppio::Text(data, size)); });
  return 0;
}
