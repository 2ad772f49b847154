// What the user wrote, ready to be understood: a net's layers after filtering by phase, level and
// stage, each with its place in the file. No shapes, no memory.
#ifndef DOPPIO_CORE_NET_SPEC_SPEC_H_
#define DOPPIO_CORE_NET_SPEC_SPEC_H_

#include <any>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/net/spec/prototxt.h"
#include "core/tensor/dtype.h"
#include "proto/net.pb.h"

namespace doppio {

// How data layers find their shapes and samples.
enum class DataMode {
  kOpen,       // open the source
  kAssume,     // only its shape is wanted; a missing source is replaced by the shape its layer
               // declares
  kSynthetic,  // random data of the declared shape; the source is opened only if nothing declares
               // it
};

// What a net is built for, the same for all its layers.
struct NetOptions {
  Phase phase = TRAIN;
  DataMode data = DataMode::kOpen;
  int64_t batch = 0;  // overrides batch_size of every data layer when > 0
  int shares = 1;  // every batch_size is divided by this, the number of ranks; it must be divisible
  uint64_t seed = 0;            // of every random stream
  int data_threads = 0;         // decode threads of each data layer; 0 = chosen by the pipeline
  int64_t bad_records = 0;      // that each data layer may leave out
  std::optional<DType> stored;  // what activations are stored as, where the file says nothing else
                                // (core/net/graph/storage.h)
};

struct LayerSpec {
  LayerParameter param;
  FieldPlaces places;  // of `param`'s fields
  NetOptions options;  // of the net; options.phase is the layer's own phase if it names one
  // What the kernel of this layer in an earlier plan offers to `infer` (ChangesTops::Offer in
  // core/net/run/changing_tops.h); mostly empty.
  std::any before;

  const std::string& name() const { return param.name(); }
  const std::string& type() const { return param.type(); }
  Phase phase() const { return options.phase; }
  // The place of a field ("convolution_param.kernel_size", index in its repetition), else of the
  // nearest message around it that was written, else of the layer.
  SourceLoc At(const std::string& path = "", int index = 0) const { return places.At(path, index); }
  // UserError at a field, starting with "layer 'conv1': ".
  UserError Mistake(const std::string& path, const std::string& text, int index = 0) const {
    return UserError(At(path, index), "layer '" + name() + "': " + text);
  }
};

struct NetSpec {
  std::string name;
  bool force_backward = false;
  bool debug_info = false;
  Number::Type forward_type = Number::FLOAT;  // of layers that name none
  NetState state;
  std::optional<Preprocessing> preprocessing;  // of inputs, where the file says it
  NetOptions options;
  SourceLoc at;
  std::vector<LayerSpec> layers;
};

// Filters `net`, which UpgradeNet (core/net/spec/upgrade.h) has seen, by `state`, turns the old
// `input` fields into an Input layer and splits layers that forks fuse
// (core/net/spec/split_layer.h). Collects all mistakes (a layer with both include and exclude, ...)
// and throws them together. `places` are those of `net`.
NetSpec MakeNetSpec(const NetParameter& net, const FieldPlaces& places, const NetState& state,
                    const NetOptions& options);

// `spec` with this batch in every layer that makes data, as NetOptions::batch sets it.
NetSpec WithBatch(NetSpec spec, int64_t batch);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_SPEC_SPEC_H_
