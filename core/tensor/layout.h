// The order in which the elements of a tensor lie in memory, whatever their type: plain
// (row-major), channels last, or an order that one library prefers, opaque to everybody but
// core/math. A layout is a property of an edge of the plan.
#ifndef DOPPIO_CORE_TENSOR_LAYOUT_H_
#define DOPPIO_CORE_TENSOR_LAYOUT_H_

#include <cstdint>
#include <memory>
#include <string>

namespace doppio {

class Layout {
 public:
  Layout() = default;  // plain
  // `descriptor`: the library's own description, compared bytewise. `stored`: elements in memory,
  // which exceed those of the shape when `padded`; the padding holds zeros and kernels keep it so.
  Layout(std::string descriptor, int64_t stored, bool padded)
      : opaque_(std::make_shared<const Opaque>(Opaque{std::move(descriptor), stored, padded})) {}
  // Axis 1 is the innermost one (NHWC, NDHWC), dense. What tensor cores like.
  static Layout ChannelsLast() {
    static const Layout layout("channels_last", -1, false);
    return layout;
  }

  bool plain() const { return opaque_ == nullptr; }
  bool channels_last() const { return opaque_ != nullptr && opaque_->stored < 0; }
  // A library's own order.
  bool opaque() const { return opaque_ != nullptr && opaque_->stored >= 0; }
  bool padded() const { return opaque_ != nullptr && opaque_->padded; }
  int64_t stored() const { return opaque_->stored; }  // of an opaque one
  // Different for different layouts.
  const std::string& descriptor() const {
    static const std::string plain;
    return opaque_ == nullptr ? plain : opaque_->descriptor;
  }

  bool operator==(const Layout& other) const { return descriptor() == other.descriptor(); }
  bool operator!=(const Layout& other) const { return !(*this == other); }

 private:
  struct Opaque {
    std::string descriptor;
    int64_t stored;
    bool padded;
  };
  std::shared_ptr<const Opaque> opaque_;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_TENSOR_LAYOUT_H_
