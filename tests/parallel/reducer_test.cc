#include "parallel/reduce/reducer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "tests/solvers/param_store_case.h"

namespace doppio {
namespace {

// A world of one rank that records when the exchange of a bucket begins.
class Alone : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void AllReduce(void*, int64_t, DType) override {}
  void Broadcast(void*, int64_t, int) override {}
  void Barrier() override {}
  void ExchangeAfterCompute(int64_t bucket) override { begun = bucket; }
  void Abort(const std::string&) override {}
  int64_t begun = -1;
};

TEST(Reducer, ReportsAtWhichGradientsAnExchangeBegins) {
  // Arenas round sizes up to 64 elements, i.e. 256 bytes. Backward finishes the last parameter
  // first.
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

// A link whose exchanges progress by themselves: each is complete after enough calls of
// ExchangesComplete(). From exchange number `fails_at` on, they fail.
class OnItsOwnTime : public Alone {
 public:
  void StartAllReduce(void*, int64_t count, DType) override {
    started.push_back(count);
    asked_ = 0;
  }
  bool ExchangesComplete() override {
    if (static_cast<int>(started.size()) >= fails_at) throw PeerError("rank 1 is lost");
    return ++asked_ > 50;
  }
  void ComputeAfterExchange() override { ++led; }

  std::vector<int64_t> started;  // counts of elements
  int led = 0, fails_at = 1000;

 private:
  int asked_ = 0;
};

TEST(Reducer, SumsForTheDeviceInOneOrderWithBuckets) {
  ParamStoreCase c({{Shape{64}}, {Shape{128}}}, DType::kFloat32);
  OnItsOwnTime link;
  ReducerOptions options;
  options.bucket_bytes = 1;
  Reducer reducer(&c.store(), &link, options);
  double numbers[10] = {};
  for (int pass = 0; pass < 3; ++pass) {
    link.started.clear();
    reducer.sums_in_stream()->AllReduce(numbers, 10, DType::kFloat64);
    reducer.Ready(1);
    reducer.sums_in_stream()->AllReduce(numbers, 3, DType::kFloat64);
    reducer.Ready(0);
    reducer.Finish(nullptr);
    EXPECT_EQ(link.started, (std::vector<int64_t>{10, 128, 3, 64}));
  }
  EXPECT_EQ(link.led, 6);
  EXPECT_EQ(reducer.totals().bytes, 3 * 4 * (64 + 128));
}

TEST(Reducer, FindsALostRankWhileTheDeviceComputes) {
  for (int fails_at : {1, 2, 3}) {
    ParamStoreCase c({{Shape{64}}, {Shape{128}}}, DType::kFloat32);
    OnItsOwnTime link;
    link.fails_at = fails_at;
    ReducerOptions options;
    options.bucket_bytes = 1;
    Reducer reducer(&c.store(), &link, options);
    double number = 0;
    EXPECT_THROW(
        {
          reducer.sums_in_stream()->AllReduce(&number, 1, DType::kFloat64);
          reducer.Ready(1);
          reducer.Ready(0);
          reducer.Finish(nullptr);
        },
        PeerError);
  }
}

// A link that averages statistics slowly and sums gradients at once.
class SlowStatistics : public Alone {
 public:
  void AllReduce(void*, int64_t, DType) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
};

TEST(Reducer, WaitsNoLongerThanItExchanges) {
  for (const bool statistics : {false, true}) {
    ParamStoreCase c({{Shape{64}}, {Shape{3}, 0, 1, 1, !statistics, !statistics}}, DType::kFloat32);
    SlowStatistics link;
    Reducer reducer(&c.store(), &link, ReducerOptions());
    for (int pass = 0; pass < 50; ++pass) {
      if (!statistics) reducer.Ready(1);
      reducer.Ready(0);
      reducer.Finish(nullptr);
      EXPECT_LE(reducer.totals().exposed_seconds, reducer.totals().busy_seconds);
    }
    if (statistics) {
      EXPECT_GE(reducer.totals().exposed_seconds, 0.1);
    }
  }
}

}  // namespace
}  // namespace doppio
