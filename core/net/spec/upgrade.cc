#include "core/net/spec/upgrade.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <set>

#include "core/net/spec/move_field.h"
#include "core/net/spec/split_layer.h"
#include "core/net/spec/upgrade_v0.h"

namespace doppio {
namespace {

using google::protobuf::FieldDescriptor;

// Indexed by the number of the V1 type.
constexpr const char* kV1TypeNames[] = {
    "",                         // NONE
    "Accuracy",                 // ACCURACY
    "BNLL",                     // BNLL
    "Concat",                   // CONCAT
    "Convolution",              // CONVOLUTION
    "Data",                     // DATA
    "Dropout",                  // DROPOUT
    "EuclideanLoss",            // EUCLIDEAN_LOSS
    "Flatten",                  // FLATTEN
    "HDF5Data",                 // HDF5_DATA
    "HDF5Output",               // HDF5_OUTPUT
    "Im2col",                   // IM2COL
    "ImageData",                // IMAGE_DATA
    "InfogainLoss",             // INFOGAIN_LOSS
    "InnerProduct",             // INNER_PRODUCT
    "LRN",                      // LRN
    "MultinomialLogisticLoss",  // MULTINOMIAL_LOGISTIC_LOSS
    "Pooling",                  // POOLING
    "ReLU",                     // RELU
    "Sigmoid",                  // SIGMOID
    "Softmax",                  // SOFTMAX
    "SoftmaxWithLoss",          // SOFTMAX_LOSS
    "Split",                    // SPLIT
    "TanH",                     // TANH
    "WindowData",               // WINDOW_DATA
    "Eltwise",                  // ELTWISE
    "Power",                    // POWER
    "SigmoidCrossEntropyLoss",  // SIGMOID_CROSS_ENTROPY_LOSS
    "HingeLoss",                // HINGE_LOSS
    "MemoryData",               // MEMORY_DATA
    "ArgMax",                   // ARGMAX
    "Threshold",                // THRESHOLD
    "DummyData",                // DUMMY_DATA
    "Slice",                    // SLICE
    "MVN",                      // MVN
    "AbsVal",                   // ABSVAL
    "Silence",                  // SILENCE
    "ContrastiveLoss",          // CONTRASTIVE_LOSS
    "Exp",                      // EXP
    "Deconvolution",            // DECONVOLUTION
};
// The types of forks, likewise, from the number of the first one on.
constexpr V1LayerParameter::LayerType kFirstOfForks = V1LayerParameter::ROI_POOLING;
constexpr const char* kForkTypeNames[] = {
    "ROIPooling",    // ROI_POOLING
    "SmoothL1Loss",  // SMOOTH_L1_LOSS
    "ImageSegData",  // IMAGE_SEG_DATA
    "Interp",        // INTERP
    "SegAccuracy",   // SEG_ACCURACY
};
static_assert(kFirstOfForks + sizeof kForkTypeNames / sizeof kForkTypeNames[0] ==
                  V1LayerParameter::LayerType_ARRAYSIZE,
              "a name for each type");

// Returns the path in a current layer of a V1 field. Most fields keep their names.
std::string NewPath(const std::string& field) {
  if (field == "param") return "param.name";
  if (field == "blob_share_mode") return "param.share_mode";
  if (field == "blobs_lr") return "param.lr_mult";
  if (field == "weight_decay") return "param.decay_mult";
  if (field == "softmaxloss_param") return "loss_param";
  return field;
}

// Moves image transforms from the source's message to transform_param. If both contain a field, the
// value in the source's message wins, as in Caffe.
void MoveTransforms(const std::string& param, const Rewritten& to) {
  const FieldDescriptor* holder = LayerParameter::descriptor()->FindFieldByName(param);
  const auto* reflection = to.layer->GetReflection();
  if (!reflection->HasField(*to.layer, holder)) return;
  google::protobuf::Message* data = reflection->MutableMessage(to.layer, holder);
  for (const char* name : {"scale", "mean_file", "crop_size", "mirror"}) {
    const FieldDescriptor* field = data->GetDescriptor()->FindFieldByName(name);
    if (!data->GetReflection()->HasField(*data, field)) continue;
    const SourceLoc place = to.places->At(to.prefix + param + "." + name);
    MoveField(*data, FieldPlaces(place), *field, std::string("transform_param.") + name, to);
    data->GetReflection()->ClearField(data, field);
  }
}

void UpgradeV1Layer(const V1LayerParameter& old, const FieldPlaces& at, const Rewritten& to) {
  std::vector<const FieldDescriptor*> fields;
  old.GetReflection()->ListFields(old, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->name() == "type" || field->name() == "strict_dim") continue;
    MoveField(old, at, *field, NewPath(field->name()), to);
  }
  to.layer->set_type(TypeName(old.type()));
  to.places->Set(to.prefix + "type", at.At("type"));
  for (const char* param : {"data_param", "image_data_param", "window_data_param"})
    MoveTransforms(param, to);
}

}  // namespace

std::string TypeName(V1LayerParameter::LayerType type) {
  return type < kFirstOfForks ? kV1TypeNames[type] : kForkTypeNames[type - kFirstOfForks];
}

Upgrade UpgradeNet(NetParameter* net, FieldPlaces* places) {
  Upgrade upgrade;
  if (net->layers_size() == 0) return upgrade;
  if (net->layer_size() > 0) {
    throw UserError(places->At("layer"),
                    "the net has layers in an old format and layer in the current one; keep one");
  }
  upgrade.from = "V1";
  for (const V1LayerParameter& layer : net->layers()) {
    if (layer.has_layer()) upgrade.from = "V0";
  }
  ErrorCollector mistakes;
  FoldPadding(net, places, &mistakes);
  for (int i = 0; i < net->layers_size(); ++i) {
    const V1LayerParameter& old = net->layers(i);
    if (IsPadding(old)) continue;
    const FieldPlaces at = places->Nested(*net, "layers", i);
    const std::string path = "layer[" + std::to_string(net->layer_size()) + "]";
    places->Set(path, at.At());
    const Rewritten to{net->add_layer(), places, path + "."};
    if (old.has_layer()) {
      UpgradeV0Layer(old, at, to, &upgrade.dropped, &mistakes);
    } else {
      UpgradeV1Layer(old, at, to);
    }
  }
  net->clear_layers();
  mistakes.ThrowIfAny();
  return upgrade;
}

std::vector<Warning> UpgradeInMemory(NetParameter* net, FieldPlaces* places) {
  const Upgrade upgrade = UpgradeNet(net, places);
  std::vector<Warning> warnings;
  if (!upgrade.from.empty()) {
    warnings.push_back({places->At("layers"), "in the " + upgrade.from +
                                                  " format, upgraded in memory; 'doppio upgrade' "
                                                  "writes it in the current one"});
  }
  warnings.insert(warnings.end(), upgrade.dropped.begin(), upgrade.dropped.end());
  for (const Warning& split : SplitWarnings(*net, *places)) warnings.push_back(split);
  return warnings;
}

void ForEachNet(SolverParameter* solver, const FieldPlaces& places,
                const std::function<void(NetParameter*, FieldPlaces*)>& f) {
  const auto call = [&](NetParameter* net, const char* field, int index) {
    FieldPlaces at = places.Nested(*solver, field, index);
    f(net, &at);
  };
  if (solver->has_net_param()) call(solver->mutable_net_param(), "net_param", 0);
  if (solver->has_train_net_param()) call(solver->mutable_train_net_param(), "train_net_param", 0);
  for (int i = 0; i < solver->test_net_param_size(); ++i) {
    call(solver->mutable_test_net_param(i), "test_net_param", i);
  }
}

bool NeedsInputLayer(const NetParameter& net) {
  if (net.input_shape_size() > 0 || net.input_dim_size() > 0) return true;
  std::set<std::string> tops;
  for (const LayerParameter& layer : net.layer()) {
    if (layer.type() == "Input") tops.insert(layer.top().begin(), layer.top().end());
  }
  return !std::all_of(net.input().begin(), net.input().end(),
                      [&](const std::string& input) { return tops.count(input) > 0; });
}

LayerParameter InputLayer(const NetParameter& net, const FieldPlaces& places,
                          ErrorCollector* mistakes) {
  LayerParameter layer;
  layer.set_name("input");
  layer.set_type("Input");
  *layer.mutable_top() = net.input();
  InputParameter* param = layer.mutable_input_param();
  const int inputs = net.input_size();
  const auto count = [&](const char* field, int got, int wanted) {
    if (got == wanted) return true;
    mistakes->Add(places.At(field),
                  StrCat(inputs, " input(s) need ", wanted, " ", field, ", got ", got));
    return false;
  };
  if (net.input_shape_size() > 0) {
    if (count("input_shape", net.input_shape_size(), inputs)) {
      *param->mutable_shape() = net.input_shape();
    }
  } else if (net.input_dim_size() > 0) {
    if (count("input_dim", net.input_dim_size(), 4 * inputs)) {
      for (int i = 0; i < 4 * inputs; ++i) {
        BlobShape* shape = i % 4 == 0 ? param->add_shape() : param->mutable_shape(i / 4);
        shape->add_dim(net.input_dim(i));
      }
    }
  } else {
    mistakes->Add(places.At("input"), "input '" + net.input(0) +
                                          "' has no shape: give one input_shape, or four "
                                          "input_dim, for each input");
  }
  return layer;
}

}  // namespace doppio
