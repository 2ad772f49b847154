// Converts a number that was read from a file to a smaller integer type. A cast would drop the
// upper bits, so that 2^32 + 1 becomes 1.
#ifndef DOPPIO_CORE_BASE_NARROWED_H_
#define DOPPIO_CORE_BASE_NARROWED_H_

#include <optional>

namespace doppio {

// Returns `value` as a To, or nullopt if a To cannot hold it.
template <class To, class From>
std::optional<To> Narrowed(From value) {
  const To narrow = static_cast<To>(value);
  const bool same_sign = (narrow < To{0}) == (value < From{0});
  if (!same_sign || static_cast<From>(narrow) != value) return std::nullopt;
  return narrow;
}

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_NARROWED_H_
