#include <gtest/gtest.h>

#include <cmath>

#include "core/base/random.h"
#include "core/base/threads.h"
#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

const double kLog3 = std::log(3.0);

// With scores 0 and log 3, the weights are 1/4 and 3/4.
TEST(Attention, WeighsValuesByTheSoftmaxOfScores) {
  LayerCase("type: 'Attention' attention_param { scale: 1 }")
      .Bottom({1, 1, 1}, {1})
      .Bottom({1, 2, 1}, {0, kLog3})
      .Bottom({1, 2, 2}, {4, 8, 0, 16})
      .ExpectTop({1, 1, 2}, {1, 14})
      // The gradient of the score of key j is weight * (value - mean): 3/4 and -3/4.
      .ExpectBottomGradient({1, 0}, {-0.75 * kLog3}, 0)
      .ExpectBottomGradient({1, 0}, {0.75, -0.75}, 1)
      .ExpectBottomGradient({1, 0}, {0.25, 0, 0.75, 0}, 2);
  // The scale is 1 / sqrt(4) for four numbers of a head.
  LayerCase("type: 'Attention'")
      .Bottom({1, 1, 4}, {1, 1, 0, 0})
      .Bottom({1, 2, 4}, {kLog3, kLog3, 5, 5, 0, 0, 9, 9})
      .Bottom({1, 2, 1}, {4, 8})
      .ExpectTop({1, 1, 1}, {5});
}

TEST(Attention, ComputesEachHeadByItself) {
  LayerCase("type: 'Attention' attention_param { heads: 2 scale: 1 }")
      .Bottom({1, 1, 2}, {1, 0})
      .Bottom({1, 2, 2}, {0, 7, kLog3, -7})
      .Bottom({1, 2, 2}, {4, 1, 8, 3})
      .ExpectTop({1, 1, 2}, {7, 2});
}

TEST(Attention, AddsBottom3OrHidesKeys) {
  // The scores are those of bottom 3: rows of (0, log 3) and (log 3, 0).
  LayerCase("type: 'Attention'")
      .Bottom({1, 2, 1}, {0, 0})
      .Bottom({1, 2, 1}, {0, 0})
      .Bottom({1, 2, 1}, {4, 8})
      .Bottom({2, 2}, {0, kLog3, kLog3, 0})
      .ExpectTop({1, 2, 1}, {7, 5})
      .ExpectBottomGradient({1, 0}, {-0.75, 0.75, 0, 0}, 3);
  // The second query sees one key, the third none.
  LayerCase("type: 'Attention' attention_param { mask: KEEP scale: 1 }")
      .Bottom({1, 3, 1}, {1, 1, 1})
      .Bottom({1, 2, 1}, {0, kLog3})
      .Bottom({1, 2, 1}, {4, 8})
      .Bottom({3, 2}, {1, 1, 2, 0, 0, 0})
      .ExpectTop({1, 3, 1}, {7, 4, 0})
      .ExpectBottomGradient({0, 1, 5}, {1, 0}, 2)
      .ExpectBottomGradient({0, 1, 5}, {0, 0, 0}, 0);
}

// Position i has the weights of offsets 0 - i and 1 - i on a line; on a grid of two rows, the
// offset is a number of rows.
TEST(Attention, LearnsBiasesOfOffsets) {
  for (const char* grid : {"", "grid_rows: 2"}) {
    LayerCase(std::string("type: 'Attention' attention_param { relative_bias: true ") + grid + " }")
        .Bottom({1, 2, 1}, {0, 0})
        .Bottom({1, 2, 1}, {0, 0})
        .Bottom({1, 2, 1}, {4, 8})
        .Param(0, {kLog3, 0, 0})  // a query that is one position before its key
        .ExpectTop({1, 2, 1}, {7, 6});
  }
}

struct AttentionCase {
  const char* fields;
  int64_t queries, keys, depth, values;
  Shape mask;  // empty: no bottom 3
  bool learns = true;
};

LayerCase CaseOf(const AttentionCase& one, int64_t batch) {
  LayerCase c(std::string("type: 'Attention' attention_param { ") + one.fields + " }");
  c.RandomBottom({batch, one.queries, one.depth}).RandomBottom({batch, one.keys, one.depth});
  c.RandomBottom({batch, one.keys, one.values});
  if (one.mask.rank() > 0) c.RandomBottom(one.mask);
  return c;
}

// Tiles have 64 queries and 128 keys on the CPU, and 32 of both on a GPU.
TEST_ON_DEVICES(Attention, AgreesWithDifferencesAndInEveryPlan) {
  const std::vector<AttentionCase> cases = {
      {"heads: 2", 3, 5, 4, 6, {}},
      {"", 1, 1, 1, 1, {}},
      {"heads: 3 scale: 0.7", 7, 7, 3, 9, {7, 7}},
      {"heads: 2", 3, 5, 4, 2, {2, 1, 5}},
      {"heads: 2", 3, 5, 4, 2, {2, 2, 3, 5}},
      {"heads: 2", 3, 5, 4, 2, {2, 1, 1, 5}},
      {"heads: 2", 3, 5, 4, 2, {2, 1, 3, 1}},
      {"heads: 2", 3, 5, 4, 2, {1, 1, 1, 1}},
      {"heads: 2 relative_bias: true", 6, 6, 4, 4, {}},
      {"heads: 2 relative_bias: true grid_rows: 2", 6, 6, 4, 4, {6, 1}},
      {"relative_bias: true grid_rows: 3", 6, 6, 2, 2, {2, 1, 6, 6}},
      {"heads: 2 dropout_ratio: 0.4", 3, 6, 4, 6, {3, 6}},
      {"heads: 2 dropout_ratio: 0.25 relative_bias: true", 5, 5, 4, 6, {}}};
  for (const AttentionCase& one : cases) {
    CaseOf(one, 2).ExpectGradient().NarrowTolerance(8).ExpectBackendsAgree(4e-5);
    CaseOf(one, 2).ExpectGpuKernel().ExpectNarrowOnGpu();
  }
}

TEST_ON_DEVICES(Attention, ComputesManyTiles) {
  for (const AttentionCase& one : {AttentionCase{"heads: 2", 70, 130, 6, 4, {70, 130}},
                                   AttentionCase{"dropout_ratio: 0.3", 65, 129, 40, 33, {}},
                                   AttentionCase{"relative_bias: true", 131, 131, 2, 2, {}}})
    CaseOf(one, 1).NarrowTolerance(8).ExpectBackendsAgree(1e-4);
}

TEST_ON_DEVICES(Attention, HidesKeysInEveryPlan) {
  LayerCase c("type: 'Attention' attention_param { heads: 2 mask: KEEP }");
  c.RandomBottom({2, 3, 4}).RandomBottom({2, 5, 4}).RandomBottom({2, 5, 4});
  c.Bottom({2, 1, 1, 5}, {1, 1, 0, 1, 0, 0, 0, 0, 0, 0});
  c.ExpectGradient().NarrowTolerance(8).ExpectBackendsAgree(4e-5);
}

// Returns softmax(q k^T / sqrt(depth)) v of one head.
std::vector<double> PlainAttention(const std::vector<double>& q, const std::vector<double>& k,
                                   const std::vector<double>& v, size_t depth) {
  std::vector<double> top;
  const size_t keys = k.size() / depth, values = v.size() / keys;
  for (size_t i = 0; i < q.size() / depth; ++i) {
    std::vector<double> weights, sums(values);
    double sum = 0;
    for (size_t j = 0; j < keys; ++j) {
      double dot = 0;
      for (size_t c = 0; c < depth; ++c) dot += q[i * depth + c] * k[j * depth + c];
      weights.push_back(std::exp(dot / std::sqrt(static_cast<double>(depth))));
      sum += weights.back();
    }
    for (size_t j = 0; j < keys; ++j) {
      for (size_t c = 0; c < values; ++c) sums[c] += weights[j] / sum * v[j * values + c];
    }
    top.insert(top.end(), sums.begin(), sums.end());
  }
  return top;
}

std::vector<double> Numbers(size_t count, uint64_t stream) {
  const Random random(7, stream);
  std::vector<double> numbers;
  for (size_t i = 0; i < count; ++i) numbers.push_back(4 * random.Uniform(0, i) - 2.0);
  return numbers;
}

TEST(Attention, EqualsThePlainFormulaOverManyTiles) {
  const size_t depth = 3, values = 2, queries = 150, keys = 300;
  const auto q = Numbers(queries * depth, 1), k = Numbers(keys * depth, 2),
             v = Numbers(keys * values, 3);
  LayerCase("type: 'Attention'")
      .Bottom({1, 150, 3}, q)
      .Bottom({1, 300, 3}, k)
      .Bottom({1, 300, 2}, v)
      .ExpectTop({1, 150, 2}, PlainAttention(q, k, v, depth), 1e-12);
}

// The gradients of the biases are sums over samples and heads.
TEST(Attention, DoesNotDependOnThreads) {
  const auto gradients = [](int threads) {
    const ThreadCount count(threads);
    LayerCase c = CaseOf({"heads: 3 dropout_ratio: 0.2", 70, 70, 6, 6, {70, 70}}, 3);
    std::vector<double> all = c.FastTop();
    for (int bottom = 0; bottom < 4; ++bottom) {
      const std::vector<double> one = c.BottomGradient(bottom);
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  };
  EXPECT_EQ(gradients(1), gradients(3));
}

// Weights are dropped with the probability and scaled, so that the mean stays; in TEST, none.
TEST(Attention, DropsWeights) {
  const std::string text = "type: 'Attention' attention_param { dropout_ratio: 0.25 }";
  const std::vector<double> zeros(2000, 0), ones(50, 1);
  const auto tops = [&](Phase phase) {
    LayerCase c(text);
    c.Bottom({40, 1, 1}, std::vector<double>(40, 0)).Bottom({40, 50, 1}, zeros);
    c.Bottom({40, 50, 1}, std::vector<double>(2000, 1)).InPhase(phase);
    return c.Top();
  };
  double sum = 0;
  for (const double top : tops(TRAIN)) {
    // Each top counts kept keys: k / 50 / 0.75.
    EXPECT_NEAR(top * 50 * 0.75, std::round(top * 50 * 0.75), 1e-5);
    sum += top / 40;
  }
  EXPECT_NEAR(sum, 1, 0.06);  // five deviations of the mean of 2000 draws
  for (const double top : tops(TEST)) EXPECT_NEAR(top, 1, 1e-12);
}

TEST(Attention, ExplainsMistakes) {
  const auto mistake = [](const AttentionCase& one, const std::vector<std::string>& parts) {
    CaseOf(one, 2).ExpectMistake(parts);
  };
  mistake({"heads: 3", 3, 5, 4, 6, {}}, {"heads is 3", "4 values", "divisor of 4"});
  mistake({"heads: 0", 3, 5, 4, 6, {}}, {"heads is 0"});
  mistake({"heads: 2", 3, 5, 4, 6, {5, 3}}, {"bottom 3 is 5x3", "2x2x3x5", "may be 1"});
  mistake({"dropout_ratio: 1", 3, 5, 4, 6, {}}, {"dropout_ratio 1", "outside [0, 1)"});
  mistake({"mask: KEEP", 3, 5, 4, 6, {}}, {"there is none", "remove mask"});
  mistake({"relative_bias: true", 3, 5, 4, 6, {}}, {"as many queries as keys", "3 and 5"});
  mistake({"relative_bias: true grid_rows: 4", 6, 6, 4, 6, {}}, {"grid_rows is 4", "6 positions"});
  LayerCase("type: 'Attention'")
      .RandomBottom({2, 3})
      .RandomBottom({2, 5, 3})
      .RandomBottom({2, 5, 3})
      .ExpectMistake({"bottom 0 has shape 2x3", "3 axes", "Reshape"});
  LayerCase("type: 'Attention'")
      .RandomBottom({2, 3, 4})
      .RandomBottom({2, 5, 6})
      .RandomBottom({2, 5, 3})
      .ExpectMistake({"bottoms 0 and 1", "2x3x4", "2x5x6", "axis 2"});
}

}  // namespace
}  // namespace doppio
