// A net in the V1 format reads as the net in the current format: the same bits.
#include "core/net/spec/upgrade.h"
#include "tests/random/layer_row.h"
#include "tests/random/relation.h"

namespace doppio {
namespace {

using google::protobuf::FieldDescriptor;

std::optional<V1LayerParameter::LayerType> OldType(const std::string& type) {
  const auto* types = V1LayerParameter::LayerType_descriptor();
  for (int i = 0; i < types->value_count(); ++i) {
    const auto value = static_cast<V1LayerParameter::LayerType>(types->value(i)->number());
    if (value != V1LayerParameter::NONE && TypeName(value) == type) return value;
  }
  return std::nullopt;
}

// Moves `param` to the lists blobs_lr, weight_decay, param and blob_share_mode. Returns false if
// the lists cannot say the same: they have a value for each parameter, or none.
bool MoveParams(const LayerParameter& layer, V1LayerParameter* old) {
  bool rates = false, decays = false, names = false, modes = false;
  for (const ParamSpec& param : layer.param()) {
    rates |= param.has_lr_mult();
    decays |= param.has_decay_mult();
    names |= param.has_name();
    modes |= param.has_share_mode();
  }
  for (const ParamSpec& param : layer.param()) {
    if (rates) old->add_blobs_lr(param.lr_mult());
    if (decays) old->add_weight_decay(param.decay_mult());
    if (names) old->add_param(param.name());
    if (modes) {
      old->add_blob_share_mode(param.share_mode() == ParamSpec::PERMISSIVE
                                   ? V1LayerParameter::PERMISSIVE
                                   : V1LayerParameter::STRICT);
    }
  }
  return layer.param_size() == 0 || rates || decays || names || modes;
}

// Copies a field to that of the same name. Returns false if the V1 layer has none.
bool CopyField(const LayerParameter& layer, const FieldDescriptor& field, V1LayerParameter* old) {
  const FieldDescriptor* to = old->GetDescriptor()->FindFieldByName(field.name());
  if (to == nullptr || to->type() != field.type() || to->is_repeated() != field.is_repeated())
    return false;
  if (field.message_type() != to->message_type()) return false;
  const google::protobuf::Reflection &from = *layer.GetReflection(),
                                     &access = *old->GetReflection();
  const int count = field.is_repeated() ? from.FieldSize(layer, &field) : 1;
  for (int i = 0; i < count; ++i) {
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING && field.is_repeated()) {
      access.AddString(old, to, from.GetRepeatedString(layer, &field, i));
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      access.SetString(old, to, from.GetString(layer, &field));
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_FLOAT && field.is_repeated()) {
      access.AddFloat(old, to, from.GetRepeatedFloat(layer, &field, i));
    } else if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      return false;
    } else if (field.is_repeated()) {
      access.AddMessage(old, to)->CopyFrom(from.GetRepeatedMessage(layer, &field, i));
    } else {
      access.MutableMessage(old, to)->CopyFrom(from.GetMessage(layer, &field));
    }
  }
  return true;
}

std::optional<V1LayerParameter> OldLayer(const LayerParameter& layer) {
  const auto type = OldType(layer.type());
  V1LayerParameter old;
  if (!type || !MoveParams(layer, &old)) return std::nullopt;
  old.set_type(*type);
  std::vector<const FieldDescriptor*> fields;
  layer.GetReflection()->ListFields(layer, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string& name = field->name();
    if (name != "type" && name != "param" && !CopyField(layer, *field, &old)) return std::nullopt;
  }
  return old;
}

std::optional<NetParameter> OldNet(const NetParameter& net) {
  NetParameter old = net;
  old.clear_layer();
  for (const LayerParameter& layer : net.layer()) {
    const std::optional<V1LayerParameter> converted = OldLayer(layer);
    if (!converted) return std::nullopt;
    *old.add_layers() = *converted;
  }
  return old;
}

bool HasOldForm(const RandomCase& random_case) {
  return HasNone(random_case, LayerRow::kOutside) && OldNet(random_case.net).has_value();
}

std::string CheckUpgrade(const RandomCase& random_case, Draw*, const std::string& folder) {
  Way way;
  way.folder = folder;
  const Outcome outcome = Run(random_case, way);
  RandomCase old = random_case;
  old.net = OldNet(random_case.net).value();
  return Same(Run(old, way), outcome);
}

DOPPIO_REGISTER(Relations, "upgrade", {&CheckUpgrade, &HasOldForm});

}  // namespace
}  // namespace doppio
