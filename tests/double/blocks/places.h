// Address ranges of this process.
#ifndef DOPPIO_TESTS_DOUBLE_BLOCKS_PLACES_H_
#define DOPPIO_TESTS_DOUBLE_BLOCKS_PLACES_H_

#include <cstddef>
#include <cstdint>

namespace doppio::gpu_double {

struct Range {
  uintptr_t begin = 0;
  size_t bytes = 0;
  bool Has(uintptr_t at) const { return at - begin < bytes; }
};

// Kind of static storage, in the program or in loaded libraries.
enum class StaticPlace { kNone, kConstant, kWritable };

// Reads the ranges of static storage, if a library has been loaded since the last call.
void ReadPlaces();
// Returns the kind of static storage at an address, or kNone.
StaticPlace PlaceOf(uintptr_t at);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_BLOCKS_PLACES_H_
