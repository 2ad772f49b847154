#include "parallel/reduce/reducer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "parallel/world/threads.h"
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

// A link that averages statistics slowly, in real time, which the reducer measures.
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

// Writes the sums of gradients to this rank's share of the values.
class CopySums : public GradientSink {
 public:
  CopySums(ParamStore* store, const std::vector<ArenaRange>& share)
      : store_(store), share_(share) {}
  void Ready(int param) override {
    const Param& p = store_->param(param);
    for (const ArenaRange& range : share_) {
      for (int64_t i = range.begin; i < range.end; ++i) {
        if (i < p.offset || i >= p.offset + p.value.stored()) continue;
        store_->arenas().values().data<float>()[i] = store_->arenas().grads().data<float>()[i];
      }
    }
    ready.push_back(param);
  }
  std::vector<int> ready;

 private:
  ParamStore* const store_;
  const std::vector<ArenaRange> share_;
};

TEST(Reducer, DividesBucketsAmongRanksAndCopiesTheirValues) {
  for (const bool at_once : {false, true}) {
    const auto ends = MakeThreadTeam(3);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 3; ++rank) {
      threads.emplace_back([&, rank] {
        // In the arena: parameter 2 from 0, 1 from 64, 0 from 704. The first bucket has the first
        // two, 664 elements, and the cuts at 192 and 384. The second bucket has one vector, which
        // is too small to be divided.
        ParamStoreCase c({{Shape{20}}, {Shape{600}}, {Shape{5}}}, DType::kFloat32);
        ReducerOptions options;
        options.bucket_bytes = 1000;
        options.sharding.on = true;
        Reducer reducer(&c.store(), ends[rank].get(), options);
        ASSERT_NE(reducer.shares(), nullptr);
        const std::vector<ArenaRange>& share = (*reducer.shares())[rank];
        const int64_t cuts[] = {0, 192, 384, 664};
        ASSERT_EQ(share.size(), 2u);
        EXPECT_EQ(share[0].begin, cuts[rank]);
        EXPECT_EQ(share[0].end, cuts[rank + 1]);
        EXPECT_EQ(share[1].end - share[1].begin, rank == 2 ? 20 : 0);
        CopySums update(&c.store(), share);
        for (int pass = 0; pass < 2; ++pass) {
          for (int i = 0; i < 3; ++i) c.SetGradient(i, 1 + i + 10 * rank + 100 * pass);
          for (int i : {2, 1, 0}) reducer.Ready(i);
          reducer.Finish(at_once ? nullptr : &update);
          if (at_once) {
            for (int i : {2, 1, 0}) update.Ready(i);
            reducer.GatherValues();
          }
          for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(c.Value(i), 3 * (1 + i) + 30 + 300 * pass);
            const int64_t last = c.store().param(i).value.stored() - 1;
            EXPECT_EQ(c.Value(i, last), 3 * (1 + i) + 30 + 300 * pass);
          }
        }
        EXPECT_EQ(update.ready, (std::vector<int>{2, 1, 0, 2, 1, 0}));
        EXPECT_EQ(reducer.totals().bytes, 2 * 4 * (664 + 20));
        EXPECT_EQ(reducer.totals().gathered_bytes, reducer.totals().bytes);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace
}  // namespace doppio
