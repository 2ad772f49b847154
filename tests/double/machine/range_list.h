// Collects the ranges that a kernel accessed, in order of address, and limits their number.
#ifndef DOPPIO_TESTS_DOUBLE_MACHINE_RANGE_LIST_H_
#define DOPPIO_TESTS_DOUBLE_MACHINE_RANGE_LIST_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "tests/double/machine/races.h"

namespace doppio::gpu_double {

class RangeList {
 public:
  // Maximum number of exact ranges per block, for reads and for writes. Beyond it, nearby ranges
  // are merged into ranges with gaps (Access::gap).
  static constexpr size_t kMost = 4096;

  // Adds a range. Ranges must be in ascending order, and EndBlock() must follow the last range of
  // each block.
  void Add(const char* at, int64_t bytes, bool writes);
  void EndBlock();
  std::vector<Access> Take() { return std::move(all_); }

 private:
  struct Part {
    std::vector<Access> ranges;
    int64_t merged_gap = 16;  // gaps up to this size are merged when there are too many ranges
  };
  static void Thin(Part* part);

  Part parts_[2];  // reads and writes of the current block
  std::vector<Access> all_;
};

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_RANGE_LIST_H_
