#include "tests/random/batch.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <string>

#include "core/net/contract/layer.h"

namespace doppio {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Changes the field, an integer or a shape, once or as a list (LayerType::BatchFields).
void ChangeRows(const FieldDescriptor* field, const std::function<int64_t(int64_t)>& change,
                Message* message) {
  const google::protobuf::Reflection& access = *message->GetReflection();
  if (!field->is_repeated()) {
    const auto rows = static_cast<int64_t>(access.GetUInt32(*message, field));
    access.SetUInt32(message, field, static_cast<uint32_t>(change(rows)));
    return;
  }
  for (int i = 0; i < access.FieldSize(*message, field); ++i) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      const auto rows = static_cast<int64_t>(access.GetRepeatedUInt32(*message, field, i));
      access.SetRepeatedUInt32(message, field, i, static_cast<uint32_t>(change(rows)));
      continue;
    }
    auto* shape = static_cast<BlobShape*>(access.MutableRepeatedMessage(message, field, i));
    if (shape->dim_size() > 0) shape->set_dim(0, change(shape->dim(0)));
  }
}

// Returns true if a rule does not keep the layer out of the phase, at some level and stage.
bool Belongs(const LayerParameter& layer, Phase phase) {
  const auto names = [&](const NetStateRule& rule) { return rule.phase() == phase; };
  const auto allows = [&](const NetStateRule& rule) { return !rule.has_phase() || names(rule); };
  if (layer.include_size() > 0)
    return std::any_of(layer.include().begin(), layer.include().end(), allows);
  return std::none_of(layer.exclude().begin(), layer.exclude().end(), [&](const auto& rule) {
    return rule.has_phase() && names(rule) && rule.stage_size() + rule.not_stage_size() == 0;
  });
}

}  // namespace

void ChangeBatches(NetParameter* net, Phase phase, const std::function<int64_t(int64_t)>& change) {
  for (LayerParameter& layer : *net->mutable_layer()) {
    const LayerType* type = LayerTypes::Get().Find(layer.type());
    if (type == nullptr || !Belongs(layer, phase)) continue;
    for (const std::string& path : type->batch_fields) {
      const size_t dot = path.find('.');
      const FieldDescriptor* outer = layer.GetDescriptor()->FindFieldByName(path.substr(0, dot));
      if (!layer.GetReflection()->HasField(layer, outer)) continue;
      Message* message = layer.GetReflection()->MutableMessage(&layer, outer);
      ChangeRows(message->GetDescriptor()->FindFieldByName(path.substr(dot + 1)), change, message);
    }
  }
}

std::vector<int64_t> BatchesOf(const NetParameter& net, Phase phase) {
  NetParameter copy = net;
  std::vector<int64_t> batches;
  ChangeBatches(&copy, phase, [&](int64_t rows) {
    batches.push_back(rows);
    return rows;
  });
  return batches;
}

void MakeDivisible(NetParameter* net, int64_t parts) {
  const std::vector<int64_t> batches = BatchesOf(*net, TRAIN);
  const bool divisible =
      std::all_of(batches.begin(), batches.end(), [&](int64_t rows) { return rows % parts == 0; });
  if (!divisible) ChangeBatches(net, TRAIN, [&](int64_t rows) { return rows * parts; });
}

}  // namespace doppio
