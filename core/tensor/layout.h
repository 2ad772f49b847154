// The order of a tensor's elements in memory, independent of their type: plain (row-major),
// channels last, or an opaque order that one library prefers and only core/math interprets. A
// layout is a property of an edge of the plan.
#ifndef DOPPIO_CORE_TENSOR_LAYOUT_H_
#define DOPPIO_CORE_TENSOR_LAYOUT_H_

#include <cstdint>
#include <memory>
#include <string>

namespace doppio {

class Layout {
 public:
  Layout() = default;  // plain
  // Creates an opaque layout. `descriptor` is the library's own description, compared bytewise.
  // `stored` is the number of elements in memory. It exceeds the shape's count if the layout is
  // `padded`; the padding contains zeros, and kernels must preserve them.
  Layout(std::string descriptor, int64_t stored, bool padded)
      : opaque_(std::make_shared<const Opaque>(Opaque{std::move(descriptor), stored, padded})) {}
  // Axis 1 is innermost and the elements are contiguous (NHWC, NDHWC). The layout that tensor cores
  // prefer.
  static Layout ChannelsLast() {
    static const Layout layout("channels_last", -1, false);
    return layout;
  }

  bool plain() const { return opaque_ == nullptr; }
  bool channels_last() const { return opaque_ != nullptr && opaque_->stored < 0; }
  // Returns true for a library's own order.
  bool opaque() const { return opaque_ != nullptr && opaque_->stored >= 0; }
  bool padded() const { return opaque_ != nullptr && opaque_->padded; }
  int64_t stored() const { return opaque_->stored; }  // opaque layouts only
  // Returns a description that is different for different layouts; "" for the plain layout.
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
