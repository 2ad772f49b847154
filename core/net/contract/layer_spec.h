// One layer as the user wrote it, which a layer type checks and infers shapes from.
#ifndef DOPPIO_CORE_NET_CONTRACT_LAYER_SPEC_H_
#define DOPPIO_CORE_NET_CONTRACT_LAYER_SPEC_H_

#include <any>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/text/str_cat.h"
#include "core/net/contract/field_places.h"
#include "core/net/contract/place_rule.h"
#include "core/tensor/dtype.h"
#include "core/tensor/shape.h"
#include "proto/net.pb.h"

namespace doppio {

// The way in which data layers get their shapes and samples.
enum class DataMode {
  kOpen,  // opens the source
  // Needs only the shape. If the source is missing, the layer's declared shape replaces it.
  kAssume,
  // Makes random data of the declared shape. Opens the source only if no shape is declared.
  kSynthetic,
};

// Properties of a net that are the same for all its layers.
struct NetOptions {
  Phase phase = TRAIN;
  DataMode data = DataMode::kOpen;
  // Shape of a sample, channels x height x width, of sources that are missing and whose fields do
  // not give the shape. Only for DataMode::kAssume; without it, such a source is an error.
  std::optional<Shape> usual_sample;
  int64_t batch = 0;        // replaces the batch_size of every data layer if > 0
  int shares = 1;           // number of ranks; every batch_size is divided by it, without remainder
  uint64_t seed = 0;        // seed of all random streams
  int data_threads = 0;     // decode threads of each data layer; 0 lets the pipeline choose
  int64_t bad_records = 0;  // bad records that each data layer may skip
  // Devices of layers, which take precedence over the layers' own `device`.
  std::vector<PlaceRule> place;
  // Number of equal parts of each batch that pass through the devices one behind the other; every
  // batch_size is divided by it, without remainder.
  int microbatches = 1;
  // Type in which activations are stored, unless the file sets another (core/net/graph/storage.h).
  std::optional<DType> stored;
};

// The path of a field, such as "convolution_param.kernel_size". `index` selects an element of a
// repeated field.
struct FieldPath {
  // NOLINTNEXTLINE(google-explicit-constructor): most calls name a field by its path alone.
  FieldPath(const char* path, int index = 0) : path(path), index(index) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  FieldPath(std::string path, int index = 0) : path(std::move(path)), index(index) {}

  std::string path;
  int index;
};

// One layer, and its place in the file.
struct LayerSpec {
  LayerParameter param;
  FieldPlaces places;  // places of the fields of `param`
  // The net's options, except that options.phase is the layer's own phase if it has one.
  NetOptions options;
  // The value that this layer's kernel in an earlier plan passes to `infer` (ChangesTops::NextForm
  // in core/net/contract/changing_tops.h). Usually empty.
  std::any before;
  // Set if this layer replaces one of type Python (core/net/graph/stand_in.h): what was replaced
  // and why, for the log.
  std::string replaced;

  const std::string& name() const { return param.name(); }
  const std::string& type() const { return param.type(); }
  Phase phase() const { return options.phase; }
  // Returns the place of a field ("convolution_param.kernel_size"; `index` selects an element). If
  // the field is not in the file, returns the place of the nearest enclosing message, or of the
  // layer.
  SourceLoc At(const std::string& path = "", int index = 0) const { return places.At(path, index); }
  // Returns a UserError at a field. The message starts with "layer 'conv1': ".
  UserError Mistake(const std::string& path, const std::string& text, int index = 0) const {
    return UserError(At(path, index), "layer '", name(), "': ", text);
  }
  // Throws Mistake with the text StrCat(parts...) if `wrong` is true. The parts are evaluated in
  // either case.
  template <class... Parts>
  void RefuseIf(bool wrong, const FieldPath& field, const Parts&... parts) const {
    if (wrong) throw Mistake(field.path, StrCat(parts...), field.index);
  }
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_CONTRACT_LAYER_SPEC_H_
