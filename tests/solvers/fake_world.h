// A world for tests of one rank: its other ranks add fixed numbers to each sum of doubles.
#ifndef DOPPIO_TESTS_SOLVERS_FAKE_WORLD_H_
#define DOPPIO_TESTS_SOLVERS_FAKE_WORLD_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/net/contract/communicator.h"

namespace doppio {

class FakeRanks : public Communicator {
 public:
  FakeRanks(int size, std::vector<double> others) : size_(size), others_(std::move(others)) {}
  int rank() const override { return 0; }
  int size() const override { return size_; }
  void AllReduce(void* data, int64_t count, DType) override {
    for (int64_t i = 0; i < count; ++i) static_cast<double*>(data)[i] += others_.at(i);
  }
  void Broadcast(void*, int64_t, int) override {}
  void Barrier() override {}
  void Abort(const std::string&) override {}

 private:
  const int size_;
  const std::vector<double> others_;
};

struct FakeWorld : World {
  FakeWorld(int size, const std::vector<double>& others) : ranks(size, others) {}
  Communicator& control() const override { return ranks; }
  Communicator& bulk() const override { return ranks; }
  std::unique_ptr<GradientExchange> MakeExchange(ParamStore*, const Sharding&) const override {
    return nullptr;
  }
  mutable FakeRanks ranks;
};

}  // namespace doppio

#endif  // DOPPIO_TESTS_SOLVERS_FAKE_WORLD_H_
