#include "core/net/spec/spec.h"

#include <algorithm>

#include "core/net/contract/layer.h"
#include "core/net/spec/split_layer.h"
#include "core/net/spec/state_rule.h"
#include "core/net/spec/upgrade.h"

namespace doppio {
namespace {

// Calls f(field, value) for each batch size in a layer that makes data and stores the result as the
// new size.
template <class F>
void ChangeBatch(const F& f, LayerParameter* layer) {
  const LayerType* type = LayerTypes::Get().Find(layer->type());
  if (type == nullptr) return;
  for (const std::string& path : type->batch_fields) {
    const size_t dot = path.find('.');
    const auto* outer = layer->GetDescriptor()->FindFieldByName(path.substr(0, dot));
    if (!layer->GetReflection()->HasField(*layer, outer)) continue;
    google::protobuf::Message* param = layer->GetReflection()->MutableMessage(layer, outer);
    const auto* field = param->GetDescriptor()->FindFieldByName(path.substr(dot + 1));
    const google::protobuf::Reflection& access = *param->GetReflection();
    if (!field->is_repeated()) {
      const auto rows = static_cast<uint32_t>(f(path, access.GetUInt32(*param, field)));
      access.SetUInt32(param, field, rows);
      continue;
    }
    for (int i = 0; i < access.FieldSize(*param, field); ++i) {
      if (field->message_type() == nullptr) {
        const auto rows =
            static_cast<uint32_t>(f(path, access.GetRepeatedUInt32(*param, field, i)));
        access.SetRepeatedUInt32(param, field, i, rows);
        continue;
      }
      auto* shape = static_cast<BlobShape*>(access.MutableRepeatedMessage(param, field, i));
      if (shape->dim_size() > 0) shape->set_dim(0, f(path, shape->dim(0)));
    }
  }
}

// Divides the batch among `shares` users, such as "ranks".
void ShareBatch(const LayerSpec& layer, int shares, const std::string& users,
                LayerParameter* param) {
  ChangeBatch(
      [&](const std::string& field, int64_t rows) {
        if (rows % shares == 0) return rows / shares;
        throw layer.Mistake(
            field, StrCat("a batch of ", rows, " cannot be shared equally by ", shares, " ", users,
                          "; the nearest that can is ",
                          std::max<int64_t>(1, (rows + shares / 2) / shares) * shares));
      },
      param);
}

}  // namespace

NetSpec WithBatch(NetSpec spec, int64_t batch) {
  for (LayerSpec& layer : spec.layers) {
    ChangeBatch([&](const std::string&, int64_t) { return batch; }, &layer.param);
  }
  return spec;
}

std::string WhyAbsent(const NetSpec& spec, const std::string& blob) {
  const LayerSpec* producer = nullptr;
  for (const LayerSpec& layer : spec.left_out) {
    const auto& tops = layer.param.top();
    if (std::find(tops.begin(), tops.end(), blob) == tops.end()) continue;
    if (producer == nullptr || HasPhase(layer.param, spec.state.phase())) producer = &layer;
  }
  if (producer == nullptr) return "";
  return StrCat("; layer '", producer->name(), "' (line ", producer->At().line,
                ") produces it, but ", WhyLeftOut(producer->param, spec.state));
}

NetSpec MakeNetSpec(const NetParameter& net, const FieldPlaces& places, const NetState& state,
                    const NetOptions& options) {
  ErrorCollector mistakes;
  NetSpec spec;
  spec.name = net.name();
  spec.force_backward = net.force_backward();
  spec.forward_type = net.default_forward_type();
  spec.debug_info = net.debug_info();
  if (net.has_preprocessing()) spec.preprocessing = net.preprocessing();
  spec.state = state;
  spec.options = options;
  spec.options.phase = state.phase();
  spec.at = places.At();
  DOPPIO_CHECK(net.layers_size() == 0, "a net in an old format was not upgraded");
  if (net.input_size() > 0 && NeedsInputLayer(net)) {
    spec.layers.push_back({InputLayer(net, places, &mistakes),
                           FieldPlaces(places.At("input")),
                           spec.options,
                           {},
                           ""});
  }
  for (int i = 0; i < net.layer_size(); ++i) {
    LayerSpec layer;
    layer.param = net.layer(i);
    layer.places = places.Nested(net, "layer", i);
    layer.options = spec.options;
    if (layer.param.has_phase()) layer.options.phase = layer.param.phase();
    if (layer.param.include_size() > 0 && layer.param.exclude_size() > 0) {
      mistakes.Add(layer.Mistake("exclude", "has include and exclude; use only one of them"));
      continue;
    }
    spec.has_rules |= layer.param.include_size() > 0 || layer.param.exclude_size() > 0;
    if (!Included(layer.param, state)) {
      spec.left_out.push_back(std::move(layer));
      continue;
    }
    mistakes.Try([&] {
      for (LayerSpec& part : SplitLayer(std::move(layer))) spec.layers.push_back(std::move(part));
    });
  }
  if (options.batch > 0) spec = WithBatch(std::move(spec), options.batch);
  for (LayerSpec& layer : spec.layers) {
    mistakes.Try([&] {
      if (options.shares > 1) ShareBatch(layer, options.shares, "ranks", &layer.param);
      if (options.microbatches > 1)
        ShareBatch(layer, options.microbatches, "micro-batches", &layer.param);
    });
  }
  mistakes.ThrowIfAny();
  return spec;
}

}  // namespace doppio
