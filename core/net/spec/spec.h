// A net as the user wrote it: its layers, filtered by phase, level and stage, with their places in
// the file. Shapes are not known yet.
#ifndef DOPPIO_CORE_NET_SPEC_SPEC_H_
#define DOPPIO_CORE_NET_SPEC_SPEC_H_

#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/net/contract/layer_spec.h"
#include "core/net/spec/prototxt.h"
#include "proto/net.pb.h"

namespace doppio {

// The layers of a net in one state.
struct NetSpec {
  std::string name;
  bool force_backward = false;
  bool debug_info = false;
  Number::Type forward_type = Number::FLOAT;  // type for layers without forward_type
  NetState state;
  std::optional<Preprocessing> preprocessing;  // preprocessing of the inputs, if the file has it
  NetOptions options;
  SourceLoc at;
  std::vector<LayerSpec> layers;
  std::vector<LayerSpec> left_out;  // the layers that rules leave out in this state
  bool has_rules = false;           // the layers depend on the state
};

// Filters `net` by `state`, converts the old `input` fields to an Input layer, and splits layers
// that forks fuse (core/net/spec/split_layer.h). `net` must have the current format (UpgradeNet in
// core/net/spec/upgrade.h). Throws all mistakes at once, such as a layer with both include and
// exclude. `places` are those of `net`.
NetSpec MakeNetSpec(const NetParameter& net, const FieldPlaces& places, const NetState& state,
                    const NetOptions& options);

// Returns why a blob of the file is not in the net, or "": "; layer 'd' (line 1) produces it, but
// it is included only in TRAIN; add one for TEST".
std::string WhyAbsent(const NetSpec& spec, const std::string& blob);

// Returns `spec` with this batch in every layer that makes data, as NetOptions::batch does.
NetSpec WithBatch(NetSpec spec, int64_t batch);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_SPEC_H_
