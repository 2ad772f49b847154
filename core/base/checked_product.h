// Products of extents that a file states. A file may state any numbers, and a product that wraps
// around looks like a small one.
#ifndef DOPPIO_CORE_BASE_CHECKED_PRODUCT_H_
#define DOPPIO_CORE_BASE_CHECKED_PRODUCT_H_

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "core/base/file_limits.h"

namespace doppio {

// Returns the product of `extents`, 1 if there are none. Returns nothing if an extent is negative
// (or, unsigned, above INT64_MAX), or if the product of the first ones, however many, is more than
// `most`: {2^40, 2^40, 0} is refused, too.
template <class Extents>
std::optional<int64_t> CheckedProduct(const Extents& extents, int64_t most = kMostElements) {
  int64_t product = 1;
  for (const auto stated : extents) {
    const auto extent = static_cast<int64_t>(stated);
    if (extent < 0 || __builtin_mul_overflow(product, extent, &product) || product > most) {
      return std::nullopt;
    }
  }
  return product;
}

inline std::optional<int64_t> CheckedProduct(std::initializer_list<int64_t> extents,
                                             int64_t most = kMostElements) {
  return CheckedProduct<std::initializer_list<int64_t>>(extents, most);
}

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_CHECKED_PRODUCT_H_
