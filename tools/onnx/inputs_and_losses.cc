// The ends of a net: data layers become inputs, and losses and scores are left out.
#include "core/net/contract/layer.h"
#include "layers/activation/dropout_form.h"
#include "tools/onnx/onnx_layer.h"

namespace doppio {
namespace {

void AddInputs(const OnnxLayer& layer) {
  for (int i = 0; i < layer.tops(); ++i) layer.SetInput(i);
}

void AddParameter(const OnnxLayer& layer) { layer.SetTop(layer.params.Constant(0)); }

void PassThrough(const OnnxLayer& layer) {
  for (int i = 0; i < layer.tops(); ++i) layer.SetTop(layer.in(), i);
}

// Adds what the layer computes in the TEST phase.
void AddDropout(const OnnxLayer& layer) {
  const DropoutForm& form = layer.Form<DropoutForm>();
  layer.spec().RefuseIf(
      form.ratio > 0, "dropout_param.sample_weights_test",
      "values that become 0 in TEST have no form in ONNX; remove sample_weights_test");
  const double scale = form.is_identity() ? 1 : form.scale<double>();
  layer.SetTop(scale == 1 ? layer.in() : layer.Add("Mul", {layer.in(), layer.Scalar(scale)}));
}

// The layer passes data on in the TEST phase. The soft labels are left out with the loss that reads
// them.
void PassDataThrough(const OnnxLayer& layer) { layer.SetTop(layer.in()); }

DOPPIO_REGISTER(OnnxMappings, "Parameter", {"a constant", &AddParameter});
DOPPIO_REGISTER(OnnxMappings, "Dropout",
                {"nothing; with scale_train: false Mul", &AddDropout, OnnxRole::kMoves});
DOPPIO_REGISTER(OnnxMappings, "SpatialDropout", {"nothing", &PassThrough});
DOPPIO_REGISTER(OnnxMappings, "SeLuDropout", {"nothing", &PassThrough});
DOPPIO_REGISTER(OnnxMappings, "Mixup", {"nothing; its soft labels are left out", &PassDataThrough});
DOPPIO_REGISTER(OnnxMappings, "Split", {"nothing", &PassThrough, OnnxRole::kMoves});

// Losses that contain a softmax or a logistic function have already been replaced by it.
const OnnxMapping kInputs = {"inputs of the graph, where a layer reads them", &AddInputs};
const OnnxMapping kScored = {"left out; what it reads becomes an output", nullptr,
                             OnnxRole::kLossOrScore};
const OnnxMapping kSilent = {"left out", nullptr, OnnxRole::kSilence};

}  // namespace

const OnnxMapping* FindOnnxMapping(const std::string& type) {
  const OnnxMapping* own = OnnxMappings::Get().Find(type);
  const LayerType* layer = LayerTypes::Get().Find(type);
  if (own != nullptr || layer == nullptr) return own;
  if (layer->max_bottoms == 0) return &kInputs;
  if (layer->max_tops == 0) return &kSilent;
  return layer->scores ? &kScored : nullptr;
}

}  // namespace doppio
