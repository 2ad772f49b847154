#include "core/net/spec/upgrade_v0.h"

#include <google/protobuf/descriptor.h>

#include <map>
#include <string>

#include "core/base/text/nearest.h"

namespace doppio {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr char kPadding[] = "padding";
// Fields of forks have this number or a higher one; see proto/net.proto.
constexpr int kForkFields = 1000;

struct V0Type {
  const char* name;
  const char* type;
  const char* param;  // the message with its parameters; "" if it has none
  bool images;        // the type reads images, so it has transform_param
};

constexpr V0Type kV0Types[] = {
    {"accuracy", "Accuracy", "", false},
    {"bnll", "BNLL", "", false},
    {"concat", "Concat", "concat_param", false},
    {"conv", "Convolution", "convolution_param", false},
    {"data", "Data", "data_param", true},
    {"dropout", "Dropout", "dropout_param", false},
    {"euclidean_loss", "EuclideanLoss", "", false},
    {"flatten", "Flatten", "", false},
    {"hdf5_data", "HDF5Data", "hdf5_data_param", false},
    {"hdf5_output", "HDF5Output", "hdf5_output_param", false},
    {"im2col", "Im2col", "convolution_param", false},
    {"images", "ImageData", "image_data_param", true},
    {"infogain_loss", "InfogainLoss", "infogain_loss_param", false},
    {"innerproduct", "InnerProduct", "inner_product_param", false},
    {"lrn", "LRN", "lrn_param", false},
    {"multinomial_logistic_loss", "MultinomialLogisticLoss", "", false},
    {"pool", "Pooling", "pooling_param", false},
    {"relu", "ReLU", "", false},
    {"sigmoid", "Sigmoid", "", false},
    {"softmax", "Softmax", "", false},
    {"softmax_loss", "SoftmaxWithLoss", "", false},
    {"split", "Split", "", false},
    {"tanh", "TanH", "", false},
    {"window_data", "WindowData", "window_data_param", true},
};

struct Renamed {
  const char* old;
  const char* now;
};

// Fields whose name in the message of a type's parameters has changed.
constexpr Renamed kParameters[] = {
    {"biasterm", "bias_term"},
    {"kernelsize", "kernel_size"},
    {"batchsize", "batch_size"},
    {"shuffle_images", "shuffle"},
    {"det_fg_threshold", "fg_threshold"},
    {"det_bg_threshold", "bg_threshold"},
    {"det_fg_fraction", "fg_fraction"},
    {"det_context_pad", "context_pad"},
    {"det_crop_mode", "crop_mode"},
};

constexpr Renamed kTransforms[] = {
    {"scale", "transform_param.scale"},
    {"meanfile", "transform_param.mean_file"},
    {"cropsize", "transform_param.crop_size"},
    {"mirror", "transform_param.mirror"},
};

// Fields that every layer has.
constexpr Renamed kCommon[] = {
    {"name", "name"},
    {"blobs", "blobs"},
    {"blobs_lr", "param.lr_mult"},
    {"weight_decay", "param.decay_mult"},
};

// Returns the new name of `old`, or `otherwise` if the table does not have it.
template <size_t n>
std::string Find(const Renamed (&table)[n], const std::string& old,
                 const std::string& otherwise = "") {
  for (const Renamed& row : table) {
    if (old == row.old) return row.now;
  }
  return otherwise;
}

const V0Type* FindType(const std::string& name) {
  for (const V0Type& type : kV0Types) {
    if (name == type.name) return &type;
  }
  return nullptr;
}

std::string UnknownType(const std::string& name) {
  std::vector<std::string> names;
  for (const V0Type& type : kV0Types) names.push_back(type.name);
  return "unknown type '" + name + "' in the V0 format" + DidYouMean(name, names);
}

// Returns the path of `field` in a current layer of the type, or "" if the layer has no such field.
std::string NewPath(const std::string& field, const V0Type& type) {
  const std::string common = Find(kCommon, field);
  if (!common.empty()) return common;
  if (field == type.param)
    return field;  // hdf5_output_param is the only type's message in the V0 format
  if (type.images) {
    const std::string transform = Find(kTransforms, field);
    if (!transform.empty()) return transform;
  }
  if (*type.param == '\0') return "";
  const Descriptor& param =
      *LayerParameter::descriptor()->FindFieldByName(type.param)->message_type();
  const std::string name = Find(kParameters, field, field);
  const FieldDescriptor* target = param.FindFieldByName(name);
  const bool known = target != nullptr && target->number() < kForkFields;
  return known ? std::string(type.param) + "." + name : "";
}

bool Pads(const V1LayerParameter& layer) {
  return layer.has_layer() && (layer.layer().type() == "conv" || layer.layer().type() == "pool");
}

std::string At(int layer, const char* field) {
  return "layers[" + std::to_string(layer) + "]." + field;
}

// Makes `layer`, which reads a padding layer, read the padding layer's bottom and use its pad.
void Fold(const NetParameter& net, int padding, int reader, V1LayerParameter* layer,
          FieldPlaces* places, ErrorCollector* mistakes) {
  const V1LayerParameter& from = net.layers(padding);
  const SourceLoc at = places->At(At(padding, "layer.type"));
  if (from.bottom_size() != 1 || from.top_size() != 1) {
    mistakes->Add(at, "a padding layer has one bottom and one top");
  } else if (!Pads(*layer) || layer->bottom_size() != 1) {
    mistakes->Add(
        places->At(At(reader, "bottom")),
        "'" + from.top(0) +
            "' is made by a padding layer, which only a conv or pool of one bottom can read");
  } else {
    layer->set_bottom(0, from.bottom(0));
    layer->mutable_layer()->set_pad(from.layer().pad());
    places->Set(At(reader, "layer.pad"), places->At(At(padding, "layer.pad")));
  }
}

}  // namespace

bool IsPadding(const V1LayerParameter& layer) { return layer.layer().type() == kPadding; }

void FoldPadding(NetParameter* net, FieldPlaces* places, ErrorCollector* mistakes) {
  std::map<std::string, int> maker;  // blob -> the last layer so far that makes it
  for (int i = 0; i < net->layers_size(); ++i) {
    V1LayerParameter* layer = net->mutable_layers(i);
    const auto bottoms = layer->bottom();
    for (const std::string& bottom : bottoms) {
      const auto found = maker.find(bottom);
      if (found == maker.end() || !IsPadding(net->layers(found->second))) continue;
      Fold(*net, found->second, i, layer, places, mistakes);
    }
    for (const std::string& top : layer->top()) maker[top] = i;
  }
}

void UpgradeV0Layer(const V1LayerParameter& old, const FieldPlaces& at, const Rewritten& to,
                    std::vector<Warning>* warnings, ErrorCollector* mistakes) {
  const V0LayerParameter& v0 = old.layer();
  const FieldPlaces places = at.Nested(old, "layer");
  const std::string where = "layer '" + v0.name() + "': ";
  std::vector<const FieldDescriptor*> fields;
  old.GetReflection()->ListFields(old, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string& name = field->name();
    if (name == "bottom" || name == "top") {
      MoveField(old, at, *field, name, to);
    } else if (name != "layer") {
      warnings->push_back(
          {at.At(name), where + "'" + name + "' has no effect beside a layer in the V0 format"});
    }
  }

  const V0Type* type = FindType(v0.type());
  if (type == nullptr) {
    mistakes->Add(places.At("type"), where + UnknownType(v0.type()));
    return;
  }
  fields.clear();
  v0.GetReflection()->ListFields(v0, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string& name = field->name();
    if (name == "type") continue;
    const std::string path = NewPath(name, *type);
    if (path.empty()) {
      warnings->push_back(
          {places.At(name),
           where + "'" + name + "' has no effect on a layer of type '" + type->name + "'"});
    } else if (!MoveField(v0, places, *field, path, to)) {
      mistakes->Add(places.At(name), where + name + " must be at least 0");
    }
  }
  to.layer->set_type(type->type);
  to.places->Set(to.prefix + "type", places.At("type"));
}

}  // namespace doppio
