#include "tools/nets/lint.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <optional>
#include <map>
#include <set>

#include "core/base/file.h"
#include "core/base/log.h"
#include "data/augment/transforms.h"
#include "solvers/trainer/nothing_learned.h"
#include "tools/cli/word_list.h"
#include "tools/nets/unread_fields.h"

namespace doppio {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;

// proto/net.proto reserves these field numbers for fields of forks.
bool IsForkField(const FieldDescriptor& field) {
  return field.number() >= 1000 && field.number() < 2000;
}

// Returns the fork that a field comes from. proto/solver.proto numbers the solver's fields by fork.
std::string ForkOf(const FieldDescriptor& field) {
  if (field.containing_type()->name() != "SolverParameter") return "a fork of Caffe";
  if (field.number() < 1100) return "SSD, NVCaffe and Intel Caffe";
  if (field.number() < 1200) return "NVCaffe";
  return field.number() < 1300 ? "Intel Caffe" : "TSN's Caffe";
}

// Returns true for fork fields that a layer, source or solver uses, or rejects if it cannot.
bool HasEffect(const FieldDescriptor& field) {
  static const auto* fields = new std::map<std::string, std::string>{
      {"BatchNormParameter",
       "bias_filler bias_term filler relu scale_bias scale_filler stats_batch_size "
       "use_weight_bias"},
      {"ConvolutionParameter", "fusion_type hole hole_h hole_w negative_slope relu"},
      {"DataParameter", "shuffle threads"},
      {"DropoutParameter", "random_seed sample_weights_test scale_train"},
      {"ELUParameter", "lambda"},
      {"FillerParameter", "alpha scale"},
      {"ImageDataParameter", "label_divide_factor label_type threads"},
      {"InnerProductParameter", "negative_slope relu"},
      {"InterpParameter", "use_blob_size"},
      {"LossParameter",
       "class_weighting label_smoothing pre_fixed_normalizer weight_by_label_freqs"},
      {"NetParameter", "global_grad_scale global_grad_scale_adaptive"},
      {"PoolingParameter",
       "avg_include_pad axis ceil_mode kernel_size_3d pad_3d stride_3d torch_pooling"},
      {"ReshapeParameter", "pixelshuffler"},
      {"ROIPoolingParameter", "pad_ratio"},
      {"SolverParameter",
       "ap_version eval_type show_per_class_result larc larc_eta larc_policy local_gw_ratio "
       "local_lr_auto max_momentum min_lr momentum_policy momentum_power plateau_winsize "
       "rampup_interval rampup_lr stageiter stagelr warmup_iter warmup_start_lr "
       "weight_decay_policy weight_decay_power"},
  };
  const std::string& message = field.containing_type()->name();
  if (message == "TransformationParameter") return HasTransformField(field.name());
  if (message == "LayerParameter") return IsReadByALayer(field.name());
  const auto found = fields->find(message);
  return found != fields->end() && Contains(Words(found->second), field.name());
}

// Fields without effect inside messages that have one: Doppio returns detection results as blobs
// and does not write files or open windows, and it compares boxes as they are.
bool HasNoEffect(const FieldDescriptor& field) {
  static const auto* names = new std::set<std::string>{
      "DetectionEvaluateParameter.name_size_file",
      "DetectionEvaluateParameter.resize_param",
      "DetectionOutputParameter.save_file",
      "DetectionOutputParameter.save_output_param",
      "DetectionOutputParameter.visualize",
      "DetectionOutputParameter.visualize_threshold",
      "EvalDetectionParameter.constriant",
      "EvalDetectionParameter.save_output_param",
      "EvalDetectionParameter.sqrt",
      "RegionLossParameter.absolute",
      "RegionLossParameter.jitter",
      "RegionLossParameter.random",
      "RegionLossParameter.side",
      "LayerParameter.split_param",
      "MultiBoxLossParameter.ignore_difficult_gt",
  };
  return names->count(field.containing_type()->name() + "." + field.name()) > 0;
}

// Returns true for the old transformation fields of layers that read images. UpgradeNet moves them
// out of V1 layers. In layers of the current format Caffe ignores them.
bool IsOldTransform(const FieldDescriptor& field) {
  const std::string& message = field.containing_type()->name();
  const std::string& name = field.name();
  return (message == "DataParameter" || message == "ImageDataParameter" ||
          message == "WindowDataParameter") &&
         ((name == "scale" && message != "WindowDataParameter") || name == "mean_file" ||
          name == "crop_size" || name == "mirror");
}

// Returns a warning if a number type of NVCaffe has no effect. The forward type of a layer decides
// how its tops are stored (core/net/graph/storage.h). Gradients have the type of their values, and
// sums are always computed in single precision.
std::optional<Warning> IgnoredNumberType(const Message& message, const FieldDescriptor& field,
                                         const FieldPlaces& places) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  const auto value = [&](const FieldDescriptor& f) { return reflection.GetEnumValue(message, &f); };
  const std::string& name = field.name();
  const std::string what =
      "'" + name + ": " + Number::Type_Name(static_cast<Number::Type>(value(field))) + "' ";
  if (EndsWith(name, "forward_type")) {
    const int type = value(field);
    if (type == Number::FLOAT || type == Number::FLOAT16 || type == Number::BFLOAT16)
      return std::nullopt;
    return Warning{places.At(name),
                   what + "has no effect: activations are stored as FLOAT, FLOAT16 or BFLOAT16"};
  }
  if (EndsWith(name, "backward_type")) {
    const std::string forward = name.substr(0, name.size() - 13) + "forward_type";
    if (value(field) == value(*message.GetDescriptor()->FindFieldByName(forward)))
      return std::nullopt;
    return Warning{
        places.At(name),
        what + "has no effect: gradients have the type of their values, set by " + forward};
  }
  if (value(field) == Number::FLOAT) return std::nullopt;
  return Warning{places.At(name), what + "has no effect: everything is computed in FLOAT"};
}

// Returns true if the field is set to its default value.
bool IsDefault(const Message& message, const FieldDescriptor& field) {
  if (field.is_repeated() || field.message_type() != nullptr) return false;
  std::string value, otherwise;
  const std::unique_ptr<Message> empty(message.New());
  TextFormat::PrintFieldValueToString(message, &field, -1, &value);
  TextFormat::PrintFieldValueToString(*empty, &field, -1, &otherwise);
  return value == otherwise;
}

// Adds the warnings for what the type of `layer` does not read, and returns their paths. A message
// that no type reads is a fork's.
std::vector<std::string> AddUnreadFields(const LayerParameter& layer, const FieldPlaces& places,
                                         std::vector<Warning>* warnings) {
  std::vector<std::string> unread;
  for (const std::string& path : UnreadFields(layer)) {
    if (!IsReadByALayer(path.substr(0, path.find('.')))) continue;
    warnings->push_back(UnreadWarning(layer, places, path));
    unread.push_back(path);
  }
  return unread;
}

// Returns the rest of the paths that begin with `field`.
std::vector<std::string> Below(const std::vector<std::string>& paths, const std::string& field) {
  std::vector<std::string> below;
  for (const std::string& path : paths) {
    if (path.compare(0, field.size() + 1, field + ".") == 0)
      below.push_back(path.substr(field.size() + 1));
  }
  return below;
}

// Leaves out the fields of `message` in `known`.
void AddIgnoredFields(const Message& message, const FieldPlaces& places,
                      std::vector<std::string> known, std::vector<Warning>* warnings) {
  std::vector<const FieldDescriptor*> fields;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  reflection.ListFields(message, &fields);
  if (message.GetDescriptor() == LayerParameter::descriptor())
    known = AddUnreadFields(static_cast<const LayerParameter&>(message), places, warnings);
  for (const FieldDescriptor* field : fields) {
    if (Contains(known, field->name())) continue;
    if (IsForkField(*field) && field->enum_type() == Number::Type_descriptor()) {
      const std::optional<Warning> ignored = IgnoredNumberType(message, *field, places);
      if (ignored) warnings->push_back(*ignored);
    } else if (HasNoEffect(*field) || (IsForkField(*field) && !HasEffect(*field))) {
      if (IsDefault(message, *field)) continue;
      warnings->push_back({places.At(field->name()),
                           "'" + field->name() + "' of " + message.GetDescriptor()->name() +
                               " comes from " + ForkOf(*field) +
                               ": it is accepted, but has no effect here"});
    } else if (IsOldTransform(*field)) {
      warnings->push_back({places.At(field->name()),
                           "'" + field->name() + "' of " + message.GetDescriptor()->name() +
                               " has no effect in a layer of the current format, as in Caffe; "
                               "set the field of this name in transform_param"});
    } else if (field->message_type() != nullptr) {
      const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
      for (int i = 0; i < count; ++i) {
        const Message& nested = field->is_repeated()
                                    ? reflection.GetRepeatedMessage(message, field, i)
                                    : reflection.GetMessage(message, field);
        AddIgnoredFields(nested, places.Nested(message, field->name(), i),
                         Below(known, field->name()), warnings);
      }
    }
  }
}

}  // namespace

void LogWarnings(const std::vector<Warning>& warnings) {
  for (const Warning& w : warnings) {
    LOG(WARNING) << (w.at.known() ? w.at.ToString() + ": " : "") << w.message;
  }
}

bool HasNoEffectHere(const FieldDescriptor& field) {
  if (IsOldTransform(field) || HasNoEffect(field)) return true;
  if (!IsForkField(field)) return false;
  return field.enum_type() == Number::Type_descriptor() ? !EndsWith(field.name(), "forward_type")
                                                        : !HasEffect(field);
}

std::vector<Warning> IgnoredFields(const Message& message, const FieldPlaces& places) {
  std::vector<Warning> warnings;
  AddIgnoredFields(message, places, {}, &warnings);
  const auto place = [](const Warning& w) { return std::make_pair(w.at.line, w.at.column); };
  std::stable_sort(warnings.begin(), warnings.end(),
                   [&](const Warning& a, const Warning& b) { return place(a) < place(b); });
  return warnings;
}

std::vector<Warning> LooseEnds(const Graph& graph) {
  // A net without a loss is for use after training: its outputs are its purpose.
  if (!HasLoss(graph)) return {};
  std::vector<Warning> warnings;
  for (int output : graph.outputs) {
    const Edge& edge = graph.edges[output];
    const Node& producer = graph.nodes[edge.producer];
    // Losses and scores are outputs to be displayed, so they are not loose ends.
    if (edge.loss_weight != 0 || (!producer.shape.has_backward && !producer.bottoms.empty()))
      continue;
    const LayerSpec& layer = graph.layer(edge.producer);
    warnings.push_back(
        {layer.At("top", edge.top), "blob '" + edge.name + "' of layer '" + layer.name() +
                                        "' is read by no layer, so it is an output of the net; add "
                                        "a Silence layer to hide it"});
  }
  return warnings;
}

}  // namespace doppio
