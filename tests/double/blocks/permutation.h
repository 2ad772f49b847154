// Random permutations that are cheap to generate.
#ifndef DOPPIO_TESTS_DOUBLE_BLOCKS_PERMUTATION_H_
#define DOPPIO_TESTS_DOUBLE_BLOCKS_PERMUTATION_H_

#include <cstdint>
#include <numeric>

namespace doppio::gpu_double {

// A pseudorandom number generator (SplitMix64).
class Draws {
 public:
  explicit Draws(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // Returns a number in [0, n).
  uint64_t Below(uint64_t n) { return Next() % n; }

 private:
  uint64_t state_;
};

// A permutation i -> (first + i * step) mod n of 0 ... n - 1, for n < 2^63. Half of the
// permutations step by 1 forward or backward, so that neighbours stay adjacent in some runs.
class Permutation {
 public:
  Permutation(uint64_t n, Draws* draws) : n_(n), first_(draws->Below(n)), step_(1 % n) {
    if (n <= 2) return;
    const uint64_t kind = draws->Below(4);
    if (kind == 0) step_ = n - 1;
    while (kind > 1 && (step_ == 1 || std::gcd(step_, n) != 1)) {
      step_ = 1 + draws->Below(n - 1);
      if (n <= 6) break;
    }
    if (std::gcd(step_, n) != 1) step_ = 1;
  }
  // Returns the next element of the permutation.
  uint64_t Next() {
    const uint64_t at = first_;
    first_ = first_ >= n_ - step_ ? first_ - (n_ - step_) : first_ + step_;
    return at;
  }

 private:
  uint64_t n_, first_, step_;
};

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_BLOCKS_PERMUTATION_H_
