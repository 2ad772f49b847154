#include "parallel/reducer.h"

#include <gtest/gtest.h>

#include "tests/solvers/param_store_case.h"

namespace doppio {
namespace {

// One rank, which notes when the exchange of a bucket begins.
class Alone : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void AllReduce(void*, int64_t, DType) override {}
  void Broadcast(void*, int64_t, int) override {}
  void Barrier() override {}
  void Follow(int64_t bucket) override { begun = bucket; }
  void Abort(const std::string&) override {}
  int64_t begun = -1;
};

TEST(Reducer, TellsAtWhichGradientsAnExchangeBegins) {
  // Arenas round up to 64 elements: 256 bytes. Backward finishes the last one first.
  ParamStoreCase c({{Shape{3}}, {Shape{200}}, {Shape{5}}, {Shape{60}}, {Shape{70}}},
                   DType::kFloat32);
  Alone alone;
  ReducerOptions options;
  options.bucket_bytes = 700;
  Reducer reducer(&c.store(), &alone, options);
  ASSERT_EQ(reducer.buckets(), 3u);
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<int> begun_at;
    for (int param = 4; param >= 0; --param) {
      const int64_t before = alone.begun;
      const bool begins = reducer.BeginsAt(param);
      reducer.Ready(param);
      EXPECT_EQ(begins, alone.begun != before) << param;
      if (begins) begun_at.push_back(param);
    }
    EXPECT_EQ(begun_at, (std::vector<int>{3, 1, 0}));
    reducer.Finish(nullptr);
  }
}

}  // namespace
}  // namespace doppio
