// The definition of a layer type: arity, shapes, parameters, and the form that its kernels read.
// Nothing here uses a device or allocates its memory. core/net/contract/kernel.h declares the
// kernels that compute a layer.
#ifndef DOPPIO_CORE_NET_CONTRACT_LAYER_H_
#define DOPPIO_CORE_NET_CONTRACT_LAYER_H_

#include <any>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/checked_product.h"
#include "core/base/registry.h"
#include "core/base/sample_set.h"
#include "core/net/contract/kernel.h"
#include "core/net/contract/layer_spec.h"
#include "core/net/contract/warning.h"
#include "core/tensor/tensor.h"

namespace doppio {

enum class Feature;  // core/net/contract/combinations.h

// One parameter blob of a layer. Blobs keep Caffe's order: weight, bias; for BatchNorm: mean,
// variance, factor.
struct ParamShape {
  Shape shape;
  FillerParameter filler;  // computes the initial values
  // false for statistics that the layer updates itself; lr_mult is then forced to 0
  bool trainable = true;
};

// The way in which the tops alias bottom 0. A view layer has no kernel: the plan aliases the memory
// of values and gradients.
enum class View {
  kNone,
  // Each top has the bottom's elements in row-major order under another shape. Needs the plain
  // layout.
  kReshape,
  kSame,  // each top equals the bottom, in any layout (Split)
};

// The result of LayerType::infer for given bottom shapes.
struct LayerShape {
  std::vector<Shape> tops;
  std::vector<ParamShape> params;

  // The parameters that the kernels need, from the file and the bottoms' shapes: a struct that the
  // layer type defines, read and checked once (KernelArgs::Form). Empty for a layer whose kernels
  // need only the shapes.
  std::any form;

  // The values that backward reads. The plan frees or overwrites all others, so kernels must obey
  // these flags. A kernel that needs more requests saved_bytes and keeps its own copy.
  bool backward_reads_bottoms = true;
  bool backward_reads_tops = true;

  // The kernels are correct when top 0 and bottom 0 share memory, and when their gradients do.
  bool in_place_ok = false;

  // Backward may overwrite the top gradients that it gets.
  bool overwrites_top_gradients = false;

  // If element i is true, bottom i's gradient equals top 0's gradient as Backward leaves it. Where
  // possible, the plan lets both share memory: bottom_grads[i] is then absent, and the kernel has
  // nothing to write. Backward does not read the value of such a bottom, even if
  // backward_reads_bottoms is true. Empty means no bottom.
  std::vector<bool> passes_gradient;
  bool Passes(size_t bottom) const {
    return bottom < passes_gradient.size() && passes_gradient[bottom];
  }

  View view = View::kNone;

  // If element i is true, top i stays in single precision whatever type activations are stored as
  // (labels, indices, numbers that the user provides). Empty means all tops if has_backward is
  // false, else none. Losses always stay in single precision, and so do tops computed only from
  // single-precision blobs.
  std::vector<bool> exact_tops;

  // The conversion of images to input values. Set if the layer has opened its source of images.
  std::optional<Preprocessing> preprocessing;

  // The samples of the layer's source. Set if the layer has opened a source that knows them.
  std::optional<SampleSet> samples;

  // The tops keep the values that the caller wrote, from pass to pass (Input).
  bool persistent_tops = false;

  // The features of the layer that the table of combinations restricts.
  std::vector<Feature> features;

  // The error for a missing file. Set if the net is built without its data (DataMode) and a file is
  // missing; `tops` then have the shapes that the layer declares. Building the net with its data
  // throws this error.
  std::optional<Error> missing;

  // The tops' shapes are not declared but assumed, for want of what determines them. Set only with
  // `missing`, which says so.
  bool guessed = false;

  // Set if the layer normalises by statistics of the batch, or by stored running ones.
  struct Statistics {
    bool running = false;  // uses the stored ones, whatever the batch
    int empty_param = -1;  // the parameter that is 0 until the first statistics are stored
  };
  std::optional<Statistics> statistics;

  // Warnings about valid fields that the user probably did not mean. `check` and `train` print
  // them.
  std::vector<Warning> warnings;

  // False if no gradient flows through the layer (Accuracy, ArgMax, data).
  bool has_backward = true;
  // If element i is true, bottom i never gets a gradient (labels). Empty means no bottom.
  std::vector<bool> no_gradient_bottoms;
  // A bottom without a gradient may depend on learned values (masks, regions). If false, that is
  // the user's mistake.
  bool no_gradient_bottoms_may_learn = false;
  bool loss = false;  // top 0 has loss_weight 1 unless the file sets one

  int64_t macs = 0;  // multiply-adds of one forward pass over the whole batch; printed by `summary`
};

// Returns the product of `factors`, but at most 2^53: extents come from a file, and sums over
// layers must not overflow.
template <class Factors>
int64_t Macs(const Factors& factors) {
  constexpr int64_t kMax = int64_t{1} << 53;
  return CheckedProduct(factors, kMax).value_or(kMax);
}
inline int64_t Macs(std::initializer_list<int64_t> factors) {
  return Macs<std::initializer_list<int64_t>>(factors);
}

// No upper limit on the number of bottoms or tops.
constexpr int kAny = -1;

// A registered layer type: its arity, its shape inference, and what the rest of the program knows
// of it. A layer registers it in its own file:
//   DOPPIO_REGISTER_LAYER("Softmax", LayerType(&InferSoftmax).Bottoms(1).Tops(1));
struct LayerType {
  // Checks the layer's fields and returns its shapes. Throws UserError, through spec.Mistake, for a
  // mistake of the user. The caller has checked the arity.
  using InferFunction = LayerShape (*)(const LayerSpec& spec, const std::vector<Shape>& bottoms);
  using DescribeFunction = Preprocessing (*)(const LayerSpec& spec);
  using CountFunction = int (*)(const LayerParameter& layer);
  using RefuseFunction = std::string (*)(const LayerSpec& spec);
  using StandsFunction = bool (*)(const LayerParameter& layer);
  using AdaptFunction = void (*)(LayerParameter* layer);

  LayerType() = default;
  explicit LayerType(InferFunction infer) : infer(infer) {}

  // The number of bottoms and tops. kAny as `max` means no upper limit.
  LayerType& Bottoms(int count) { return Bottoms(count, count); }
  LayerType& Bottoms(int min, int max) {
    min_bottoms = min;
    max_bottoms = max;
    return *this;
  }
  LayerType& Tops(int count) { return Tops(count, count); }
  LayerType& Tops(int min, int max) {
    min_tops = min;
    max_tops = max;
    return *this;
  }
  // The layer has as many tops as bottoms.
  LayerType& SameCount() {
    same_count = true;
    return *this;
  }
  // The net adds a top that the file omits (losses).
  LayerType& AutoTop() {
    auto_top = true;
    return *this;
  }
  // The layer only scores what the net computes (losses, accuracies). Exported nets omit it, and
  // what it reads becomes an output.
  LayerType& Scores() {
    scores = true;
    return *this;
  }
  // The layer's top holds detections that are compared with objects, for average precision. Each
  // row begins with as many counts as `classes` returns.
  LayerType& ScoresDetections(CountFunction classes) {
    scores = true;
    detection_classes = classes;
    return *this;
  }
  // A layer of type `inner` computes the output of a deployed net from bottom 0 of this one.
  // `adapt`, if not null, sets the fields of `inner` from those of this layer.
  LayerType& DeploysAs(std::string inner, AdaptFunction adapt = nullptr) {
    deploys_as = std::move(inner);
    adapt_deployed = adapt;
    return *this;
  }
  // The caller writes the tops: the layer is an input of a deployed net.
  LayerType& TakesInput() {
    takes_input = true;
    return *this;
  }
  // With --snapshot, the source starts over, as in Caffe; with --resume it continues.
  LayerType& StartsOver() {
    starts_over = true;
    return *this;
  }
  // The layer reads images. `describe` returns how images become input values. If the source is
  // missing, the result contains what can be known without the source.
  LayerType& DescribesImages(DescribeFunction describe) {
    describe_images = describe;
    return *this;
  }
  // The messages of LayerParameter that the layer reads besides the one named after its type, and
  // single fields of messages ("data_param.prefetch"). If no message is named after the type, the
  // first one is the layer's main message. `infer` sees no other message (read_fields.h).
  LayerType& Reads(std::vector<std::string> fields) {
    further_fields = std::move(fields);
    return *this;
  }
  // Fields, as paths, that the layer does not read although it reads their messages.
  LayerType& Ignores(std::vector<std::string> fields) {
    ignored_fields = std::move(fields);
    return *this;
  }
  // Messages with which the layer is a mistake.
  LayerType& Refuses(std::vector<std::string> fields) {
    refused_fields = std::move(fields);
    return *this;
  }
  // The layer stands for these classes of well-known Python modules ("module.Class") if a net has
  // them as layers of type Python with as many bottoms and tops as this type takes, and the module
  // cannot be imported. If `stands` is not null, it returns false for a layer of such a class for
  // which this type does not stand.
  LayerType& StandsFor(std::vector<std::string> classes, StandsFunction stands = nullptr) {
    python_classes = std::move(classes);
    stands_for = stands;
    return *this;
  }
  // Of the type Python: `refuse` returns why the module of the layer cannot be imported, or "".
  LayerType& RefusesModules(RefuseFunction refuse) {
    refuse_module = refuse;
    return *this;
  }
  // The fields that hold the number of rows of the tops, as paths from LayerParameter. A field is
  // an integer, or a shape that begins with the number.
  LayerType& BatchFields(std::vector<std::string> fields) {
    batch_fields = std::move(fields);
    return *this;
  }
  // The field of LayerParameter in which Intel Caffe's `relu` adds a ReLU behind the layer.
  LayerType& AcceptsRelu(std::string field) {
    relu_field = std::move(field);
    return *this;
  }
  // The parameters' names in exported files, as PyTorch names them. `sure` returns the number of
  // parameters that the layer's text guarantees; null means none.
  LayerType& Params(std::vector<std::string> names, CountFunction sure = nullptr) {
    param_names = std::move(names);
    sure_params = sure;
    return *this;
  }
  // Parameters 0 and 1 are running sums, and parameter `weight` is the sum of their weights.
  LayerType& StoresSums(int weight) {
    sums_weight = weight;
    return *this;
  }
  // NVCaffe stores the parameters of a following layer of type `type` behind this layer's own.
  LayerType& StoresParamsOf(std::string type) {
    stores_params_of = std::move(type);
    return *this;
  }
  // Parameter 0 has one extent for each input value, so it fixes the size of the net's input.
  // `axis` returns the axis of this extent.
  LayerType& FixesInputSize(CountFunction axis) {
    input_values_axis = axis;
    return *this;
  }
  // The kind of the layer in drawings of nets, if its other properties do not determine it.
  LayerType& DrawnAs(const char* kind) {
    drawn_as = kind;
    return *this;
  }
  // The layer computes each row of a batch independently. `axis` returns the first axis along which
  // the layer combines values; rows are independent if that axis is not the first. Null means that
  // the axis is never the first.
  LayerType& RowByRow(CountFunction axis = nullptr) {
    row_by_row = true;
    mixed_axis = axis;
    return *this;
  }
  // The number of rows of the tops depends on the values of the bottoms (varying_rows.h).
  LayerType& RowsVary() {
    rows_vary = true;
    return *this;
  }
  // A pixel of a top has the coordinates of the same pixel of the bottoms.
  LayerType& KeepsCoordinates() {
    keeps_coordinates = true;
    return *this;
  }

  InferFunction infer = nullptr;
  int min_bottoms = 0, max_bottoms = kAny;
  int min_tops = 0, max_tops = kAny;
  bool same_count = false, auto_top = false, scores = false;
  DescribeFunction describe_images = nullptr;
  std::vector<std::string> further_fields, ignored_fields, refused_fields;
  std::vector<std::string> batch_fields, param_names, python_classes;
  StandsFunction stands_for = nullptr;
  RefuseFunction refuse_module = nullptr;
  std::string relu_field;
  CountFunction sure_params = nullptr;
  bool row_by_row = false, rows_vary = false, keeps_coordinates = false;
  bool takes_input = false, starts_over = false;
  CountFunction mixed_axis = nullptr, detection_classes = nullptr, input_values_axis = nullptr;
  std::string deploys_as, stores_params_of;
  AdaptFunction adapt_deployed = nullptr;
  int sums_weight = -1;
  const char* drawn_as = "";
};
using LayerTypes = Registry<LayerType>;

// Returns true if the caller writes the tops of layers of this type (LayerType::TakesInput).
inline bool TakesInput(const std::string& type) {
  const LayerType* found = LayerTypes::Get().Find(type);
  return found != nullptr && found->takes_input;
}

#define DOPPIO_REGISTER_LAYER(name, ...) DOPPIO_REGISTER(::doppio::LayerTypes, name, __VA_ARGS__)

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_CONTRACT_LAYER_H_
