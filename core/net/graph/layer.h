// What a layer means: arity, shapes, parameters and what its kernels need to know. Pure: no device,
// no memory. What computes it is core/net/plan/kernel.h's.
#ifndef DOPPIO_CORE_NET_GRAPH_LAYER_H_
#define DOPPIO_CORE_NET_GRAPH_LAYER_H_

#include <any>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "core/base/checked_product.h"
#include "core/base/registry.h"
#include "core/net/plan/kernel.h"
#include "core/net/spec/spec.h"
#include "core/tensor/tensor.h"

namespace doppio {

// One learnable blob of a layer, in Caffe's order (weight, bias; BatchNorm: mean, variance,
// factor).
struct ParamShape {
  Shape shape;
  FillerParameter filler;  // the initial values
  bool trainable = true;   // false: statistics kept by the layer itself; lr_mult is forced to 0
};

// How tops lie relative to bottom 0. A view layer has no kernel: the plan aliases memory, gradients
// included.
enum class View {
  kNone,
  kReshape,  // every top is the bottom's elements in row-major order under another shape (needs
             // plain layout)
  kSame,     // every top is the bottom (Split); any layout
};

// Answer of LayerType::infer for given bottom shapes.
struct LayerShape {
  std::vector<Shape> tops;
  std::vector<ParamShape> params;

  // What the kernels need of the file and of the bottoms' shapes, read and checked once: a struct
  // of the layer's own (KernelArgs::Form). Empty for a layer whose kernels need no more than
  // shapes.
  std::any form;

  // Which values backward reads. The plan frees or overwrites what is not read; kernels must keep
  // to it (a kernel that needs more declares saved_bytes and keeps its own copy).
  bool backward_reads_bottoms = true;
  bool backward_reads_tops = true;

  // The kernels compute correctly when top 0 and bottom 0 share memory, likewise their gradients.
  bool in_place_ok = false;

  // Backward may write over the top gradients it is given.
  bool overwrites_top_gradients = false;

  // true at i: bottom i's gradient is top 0's as it stands after Backward. The plan then lets both
  // be the same memory where it can: bottom_grads[i] is absent, and the kernel has nothing to
  // write. Backward does not read the value of such a bottom, whatever backward_reads_bottoms says.
  // Empty: none.
  std::vector<bool> passes_gradient;

  View view = View::kNone;

  // true at i: top i stays in single precision whatever activations are stored as (labels, indices,
  // the user's own numbers). Empty: all where has_backward is false, else none. Losses and what is
  // made of nothing else than such blobs stay so without being named.
  std::vector<bool> exact_tops;

  // Says how images become values, if the layer has opened its source of images.
  std::optional<Preprocessing> preprocessing;

  // The tops keep what the caller put there from pass to pass (Input).
  bool persistent_tops = false;

  // A file that is missing where the net is built without its data (DataMode); `tops` are then
  // those that the layer declares. What the same net built with its data throws.
  std::optional<Error> missing;

  bool has_backward = true;  // false: no gradient flows (Accuracy, ArgMax, data)
  // True at i: bottom i never gets a gradient (labels). Empty: none so.
  std::vector<bool> no_gradient_bottoms;
  bool no_gradient_bottoms_may_learn =
      false;          // such as masks and regions; otherwise it is the user's mistake
  bool loss = false;  // top 0 has loss_weight 1 unless the file says otherwise

  int64_t macs = 0;  // multiply-adds of one forward pass over the whole batch, for `summary`
};

// The product of `factors`, or 2^53 where it is more: extents come from a file, and sums over
// layers must not wrap around.
template <class Factors>
int64_t Macs(const Factors& factors) {
  constexpr int64_t kMost = int64_t{1} << 53;
  return CheckedProduct(factors, kMost).value_or(kMost);
}
inline int64_t Macs(std::initializer_list<int64_t> factors) {
  return Macs<std::initializer_list<int64_t>>(factors);
}

constexpr int kAny = -1;

struct LayerType {
  int min_bottoms = 0, max_bottoms = kAny;
  int min_tops = 0, max_tops = kAny;
  bool same_count = false;  // as many tops as bottoms
  bool auto_top = false;    // a missing top is made (losses)
  // Throws UserError via spec.Mistake for whatever the user got wrong; arity has been checked
  // before.
  LayerShape (*infer)(const LayerSpec& spec, const std::vector<Shape>& bottoms) = nullptr;
  // Of a layer that reads images: what becomes of them, as far as it is known without the source
  // where that is missing.
  Preprocessing (*describe_images)(const LayerSpec& spec) = nullptr;
};
using LayerTypes = Registry<LayerType>;

#define DOPPIO_REGISTER_LAYER(name, ...) DOPPIO_REGISTER(::doppio::LayerTypes, name, __VA_ARGS__)

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_GRAPH_LAYER_H_
