// A fake communicator of two ranks, for tests of layers that all-reduce a number.
#ifndef DOPPIO_TESTS_LAYERS_COMMON_TWO_RANKS_H_
#define DOPPIO_TESTS_LAYERS_COMMON_TWO_RANKS_H_

#include <string>

#include "core/net/contract/communicator.h"

namespace doppio {

// Rank 0 of 2. AllReduce adds `other`, the other rank's number, to one double.
class OneOfTwo : public Communicator {
 public:
  explicit OneOfTwo(double other) : other_(other) {}
  int rank() const override { return 0; }
  int size() const override { return 2; }
  void AllReduce(void* data, int64_t, DType) override { *static_cast<double*>(data) += other_; }
  void Broadcast(void*, int64_t, int) override {}
  void Barrier() override {}
  void Abort(const std::string&) override {}

 private:
  const double other_;
};

}  // namespace doppio

#endif  // DOPPIO_TESTS_LAYERS_COMMON_TWO_RANKS_H_
