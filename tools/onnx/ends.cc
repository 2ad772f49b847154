// The ends of a net: data layers become inputs, and losses and scores are left out.
#include "layers/activation/dropout_form.h"
#include "tools/onnx/onnx_layer.h"

namespace doppio {
namespace {

void AddInputs(const OnnxLayer& layer) {
  for (int i = 0; i < layer.tops(); ++i) layer.SetInput(i);
}

void AddParameter(const OnnxLayer& layer) { layer.SetTop(layer.weight(0)); }

void PassOn(const OnnxLayer& layer) {
  for (int i = 0; i < layer.tops(); ++i) layer.SetTop(layer.in(), i);
}

// Adds what the layer computes in the TEST phase.
void AddDropout(const OnnxLayer& layer) {
  const DropoutForm& form = layer.Form<DropoutForm>();
  if (form.ratio > 0) {
    throw layer.spec().Mistake("dropout_param.sample_weights_test",
                               "values that become 0 in TEST have no form in ONNX; remove "
                               "sample_weights_test");
  }
  const double scale = form.is_identity() ? 1 : form.scale<double>();
  layer.SetTop(scale == 1 ? layer.in() : layer.Add("Mul", {layer.in(), layer.Scalar(scale)}));
}

// The layer passes data on in the TEST phase. The soft labels are left out with the loss that reads
// them.
void PassDataOn(const OnnxLayer& layer) { layer.SetTop(layer.in()); }

bool RegisterAll() {
  for (const char* type : {"AnnotatedData", "Data", "DummyData", "HDF5Data", "ImageData", "Input",
                           "MemoryData", "WindowData"}) {
    OnnxMappings::Get().Add(type, {"inputs of the graph, where a layer reads them", &AddInputs});
  }
  // Losses and scores, whose bottoms are what the net computes. Losses that contain a softmax or a
  // logistic function have already been replaced by that function.
  for (const char* type :
       {"Accuracy", "ContrastiveLoss", "DetectionEvaluate", "DetectionOutput", "EuclideanLoss",
        "HingeLoss", "MultiBoxLoss", "MultinomialLogisticLoss", "SmoothL1Loss"}) {
    OnnxMappings::Get().Add(
        type, {"left out; what it reads becomes an output", nullptr, OnnxRole::kEnds});
  }
  for (const char* type : {"HDF5Output", "Silence"}) {
    OnnxMappings::Get().Add(type, {"left out", nullptr, OnnxRole::kSilence});
  }
  return true;
}
[[maybe_unused]] const bool registered = RegisterAll();

DOPPIO_REGISTER(OnnxMappings, "Parameter", {"a constant", &AddParameter});
DOPPIO_REGISTER(OnnxMappings, "Dropout", {"nothing; with scale_train: false Mul", &AddDropout});
DOPPIO_REGISTER(OnnxMappings, "SpatialDropout", {"nothing", &PassOn});
DOPPIO_REGISTER(OnnxMappings, "Mixup", {"nothing; its soft labels are left out", &PassDataOn});
DOPPIO_REGISTER(OnnxMappings, "Split", {"nothing", &PassOn});

}  // namespace
}  // namespace doppio
