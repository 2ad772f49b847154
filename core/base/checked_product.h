// Multiplies extents that are read from a file. A file may contain any numbers, and a product that
// overflows can look like a small one.
#ifndef DOPPIO_CORE_BASE_CHECKED_PRODUCT_H_
#define DOPPIO_CORE_BASE_CHECKED_PRODUCT_H_

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "core/base/file_limits.h"

namespace doppio {

// Returns the product of `extents`, or 1 if `extents` is empty. Returns nullopt if an extent is
// negative (or unsigned and above INT64_MAX), or if the product of any leading extents exceeds
// `limit`. {2^40, 2^40, 0} is therefore rejected although its full product is 0.
template <class Extents>
std::optional<int64_t> CheckedProduct(const Extents& extents, int64_t limit = kMaxElements) {
  int64_t product = 1;
  for (const auto stated : extents) {
    const auto extent = static_cast<int64_t>(stated);
    if (extent < 0 || __builtin_mul_overflow(product, extent, &product) || product > limit) {
      return std::nullopt;
    }
  }
  return product;
}

inline std::optional<int64_t> CheckedProduct(std::initializer_list<int64_t> extents,
                                             int64_t limit = kMaxElements) {
  return CheckedProduct<std::initializer_list<int64_t>>(extents, limit);
}

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_CHECKED_PRODUCT_H_
