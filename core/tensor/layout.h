// How the elements of a tensor lie in memory: plain (row-major, dense), or an order that one library
// prefers, opaque to everybody but core/math. A layout is a property of an edge of the plan.
#ifndef DOPPIO_CORE_TENSOR_LAYOUT_H_
#define DOPPIO_CORE_TENSOR_LAYOUT_H_

#include <cstdint>
#include <memory>
#include <string>

namespace doppio {

class Layout {
 public:
  Layout() = default;  // plain
  // `descriptor`: the library's own description, compared bytewise. `bytes`: storage it needs, which
  // exceeds elements x size when `padded`; the padding holds zeros and kernels keep it so.
  Layout(std::string descriptor, int64_t bytes, bool padded)
      : opaque_(std::make_shared<const Opaque>(Opaque{std::move(descriptor), bytes, padded})) {}

  bool plain() const { return opaque_ == nullptr; }
  bool padded() const { return opaque_ != nullptr && opaque_->padded; }
  const std::string& descriptor() const { return opaque_->descriptor; }  // not for plain
  int64_t bytes() const { return opaque_->bytes; }                       // not for plain

  bool operator==(const Layout& other) const {
    if (plain() || other.plain()) return plain() == other.plain();
    return opaque_->descriptor == other.opaque_->descriptor;
  }
  bool operator!=(const Layout& other) const { return !(*this == other); }

 private:
  struct Opaque {
    std::string descriptor;
    int64_t bytes;
    bool padded;
  };
  std::shared_ptr<const Opaque> opaque_;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_TENSOR_LAYOUT_H_
