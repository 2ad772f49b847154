// The sequence of random numbers of one sample. Each call returns the next number.
#ifndef DOPPIO_DATA_RECORD_DRAWS_H_
#define DOPPIO_DATA_RECORD_DRAWS_H_

#include "core/base/random.h"

namespace doppio {

class Draws {
 public:
  Draws(const Random& random, uint64_t sample) : random_(random), sample_(sample) {}
  // Returns a number in [low, high).
  float Uniform(float low, float high) {
    return low + (high - low) * random_.Uniform(sample_, next_++);
  }
  // Returns a number of the normal distribution with mean 0.
  float Normal(float sigma) { return sigma * random_.Normal(sample_, next_++); }
  // Returns true with the given probability.
  bool Bernoulli(float probability) { return Uniform(0, 1) < probability; }
  // Returns an integer in [0, n). `n` must be positive.
  int Below(int n) {
    return static_cast<int>(random_.Below(static_cast<uint32_t>(n), sample_, next_++));
  }
  // Returns four random words. They start at counter 2^20, so that they differ from the words that
  // the other methods use.
  Random4 Bits() { return random_.At(sample_, (1u << 20) + next_++); }

 private:
  const Random random_;
  const uint64_t sample_;
  uint64_t next_ = 0;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_RECORD_DRAWS_H_
