// The choices of one random case. Every choice is a function of the seed and of the choices before
// it.
#ifndef DOPPIO_TESTS_RANDOM_DRAW_H_
#define DOPPIO_TESTS_RANDOM_DRAW_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "core/base/random.h"

namespace doppio {

// Draws choices. Not thread-safe.
class Draw {
 public:
  // Draws of the same seed for different purposes are independent.
  explicit Draw(uint64_t seed, const std::string& purpose = "")
      : random_(seed * 0x9E3779B97F4A7C15ull ^ Stream("random cases", purpose)) {}

  // Returns an integer in [low, high].
  int64_t Int(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  // Returns true with probability `chance`.
  bool Chance(double chance) { return Real(0, 1) < chance; }
  // Returns a number in [low, high) with few digits, so that its decimal text is exact enough.
  double Real(double low, double high) {
    return low + (high - low) * static_cast<double>(random_() >> 44) / 1048576.0;
  }
  template <class T>
  T Of(const std::vector<T>& values) {
    return values[static_cast<size_t>(Int(0, static_cast<int64_t>(values.size()) - 1))];
  }
  // Returns an extent in [1, most] of a kind that finds mistakes: 1, primes, one more or less than
  // a vector, powers of two.
  int64_t Extent(int64_t most) {
    std::vector<int64_t> fitting;
    for (int64_t extent : {1, 1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17, 31, 32, 33}) {
      if (extent <= most) fitting.push_back(extent);
    }
    return Of(fitting);
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace doppio

#endif  // DOPPIO_TESTS_RANDOM_DRAW_H_
