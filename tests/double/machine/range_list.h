// Gathers the ranges that a kernel touched, in the order of their addresses, and keeps their number
// small.
#ifndef DOPPIO_TESTS_DOUBLE_MACHINE_RANGE_LIST_H_
#define DOPPIO_TESTS_DOUBLE_MACHINE_RANGE_LIST_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "tests/double/machine/races.h"

namespace doppio::gpu_double {

class RangeList {
 public:
  // Up to this many ranges of reads and of writes are exact; beyond, near ones are merged to ranges
  // with gaps (Access::gap).
  static constexpr size_t kMost = 4096;

  // Ranges come in ascending order; those of a block are followed by EndBlock().
  void Add(const char* at, int64_t bytes, bool writes);
  void EndBlock();
  std::vector<Access> Take() { return std::move(all_); }

 private:
  struct Part {
    std::vector<Access> ranges;
    int64_t merged_gap = 16;  // gaps up to this are merged once there are too many ranges
  };
  static void Thin(Part* part);

  Part parts_[2];  // reads and writes of the block
  std::vector<Access> all_;
};

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_RANGE_LIST_H_
