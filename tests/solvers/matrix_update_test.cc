// Tests Muon's updates of matrices. The singular values after the five iterations follow from the
// polynomial of the paper, applied to each singular value of the normalised matrix.
#include "solvers/update/matrix_update.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/net/contract/combinations.h"
#include "tests/solvers/param_store_case.h"
#include "tests/solvers/trainer_case.h"
#include "tests/solvers/update_variants.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

double Polynomial(double s) {
  for (int i = 0; i < 5; ++i) s = 3.4445 * s - 4.7750 * std::pow(s, 3) + 2.0315 * std::pow(s, 5);
  return s;
}

// Returns the result for a rows x columns matrix whose only elements are `diagonal`.
std::vector<double> OfDiagonal(int64_t rows, int64_t columns, const std::vector<double>& diagonal) {
  std::vector<double> x(rows * columns), next(x.size());
  for (size_t i = 0; i < diagonal.size(); ++i) x[i * columns + i] = diagonal[i];
  const int64_t side = std::min(rows, columns);
  std::vector<double> gram(side * side), square(gram.size());
  const double* const result =
      Orthogonalize(rows, columns, x.data(), next.data(), gram.data(), square.data());
  return std::vector<double>(result, result + rows * columns);
}

TEST(MatrixUpdate, AppliesThePolynomialToSingularValues) {
  for (const auto& [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{{2, 3}, {3, 2}}) {
    const std::vector<double> result = OfDiagonal(rows, columns, {3, -4});  // of norm 5
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t k = 0; k < columns; ++k) {
        const double expected = i != k ? 0 : i == 0 ? Polynomial(0.6) : -Polynomial(0.8);
        EXPECT_NEAR(result[i * columns + k], i < 2 ? expected : 0, 1e-6) << i << ", " << k;
      }
    }
  }
}

TEST(MatrixUpdate, LeavesZerosAlone) {
  for (const double value : OfDiagonal(3, 4, {0, 0, 0})) EXPECT_EQ(value, 0);
}

// A matrix with one singular value other than 0 is u v^T, whose normalised value is 1.
TEST(MatrixUpdate, StepsByTheRateWhateverTheSizeOfTheGradient) {
  for (const double size : {1e-3, 1.0, 1e3}) {
    ParamStoreCase c({{Shape{4, 2, 2, 1}, 3}});
    c.SetGradient(0, size);  // 16 elements, so that u v^T has elements of 1/4
    Update update = MakeUpdate("type: 'Muon' momentum: 0.5 weight_decay: 0.1", &c.store());
    update.Run(0.5, 0, 1);
    const double direction = 0.2 * 2 * Polynomial(1) / 4;
    EXPECT_NEAR(c.Value(0), 3 - 0.5 * (direction + 0.1 * 3), 1e-4) << size;
    EXPECT_NEAR(ReadHistory(update, c.store().device())[0].data[5], 0.5 * size, 1e-5 * size);
  }
}

TEST(MatrixUpdate, LooksAheadByItsMomentum) {
  // Gradients on other diagonal elements: m is (0.5, 0), then (0.25, 0.5), and u is half of it
  // plus half of the gradient: (0.125, 0.75).
  ParamStoreCase c({{Shape{2, 2}, 0}});
  Update update = MakeUpdate("type: 'Muon' momentum: 0.5", &c.store());
  c.SetGradient(0, 0, 1);
  update.Run(0, 0, 1);
  c.SetGradient(0, 0, 0);
  c.SetGradient(0, 3, 1);
  update.Run(1, 1, 1);
  const double norm = std::hypot(0.125, 0.75), factor = 0.2 * std::sqrt(2);
  EXPECT_NEAR(c.Value(0, 0), -factor * Polynomial(0.125 / norm), 1e-6);
  EXPECT_NEAR(c.Value(0, 3), -factor * Polynomial(0.75 / norm), 1e-6);
  EXPECT_NEAR(c.Value(0, 1), 0, 1e-9);
}

TEST(MatrixUpdate, LeavesVectorsToAdamW) {
  for (const Shape& shape : {Shape{5}, Shape{1, 5}, Shape{5, 1, 1}}) {
    ParamStoreCase muon({{shape, 2}}), adam({{shape, 2}});
    Update a = MakeUpdate("type: 'Muon' momentum: 0.9 weight_decay: 0.1", &muon.store());
    Update b = MakeUpdate("type: 'AdamW' momentum: 0.9 weight_decay: 0.1", &adam.store());
    for (int i = 0; i < 3; ++i) {
      for (ParamStoreCase* c : {&muon, &adam}) c->SetGradient(0, i - 0.5);
      a.Run(0.1, i, 1);
      b.Run(0.1, i, 1);
      EXPECT_EQ(muon.Value(0), adam.Value(0)) << shape.ToString();
    }
  }
}

TEST(MatrixUpdate, FindsNonFiniteValues) {
  ParamStoreCase c({{Shape{3}, 1}, {Shape{3, 3}, 1}});
  c.SetGradient(1, 4, INFINITY);
  Update update = MakeUpdate("type: 'Muon'", &c.store());
  update.Run(0.1, 0, 1);
  EXPECT_EQ(update.passes().NonFiniteParam(), std::optional(1));
}

// The blocked and padded layouts of oneDNN hold the same matrices as plain ones.
TEST(MatrixUpdate, DoesNotDependOnLayouts) {
  const std::string solver =
      "type: 'Muon' momentum: 0.9 base_lr: 0.002 lr_policy: 'fixed' weight_decay: 0.01 max_iter: 2";
  TrainerCase c(MixedNet(), solver);
  TrainerOptions reference;
  reference.plan.engine = "reference";
  const auto plain = c.Make(reference), blocked = c.Make();
  plain->Solve();
  blocked->Solve();
  for (size_t i = 0; i < plain->params().params().size(); ++i) {
    const Param &a = plain->params().params()[i], &b = blocked->params().params()[i];
    // The true gradient of a bias in front of BatchNorm is 0, so its steps follow rounding.
    if (a.value.shape.rank() < 2) continue;
    const std::vector<float> of_a = ReadTensor(a.value, plain->params().device()).data;
    const std::vector<float> of_b = ReadTensor(b.value, blocked->params().device()).data;
    for (size_t k = 0; k < of_a.size(); ++k)
      ASSERT_NEAR(of_a[k], of_b[k], 5e-4f * (1 + std::fabs(of_a[k]))) << a.layer << " " << k;
  }
}

TEST(MatrixUpdate, IsRefusedWhereItCannotRun) {
  TrainerCase c(SquareNet(), "type: 'Muon' base_lr: 0.1 lr_policy: 'fixed' max_iter: 1");
  TrainerOptions options;
  options.shard_update = true;
  const std::string text = Mistake([&] { c.Make(options); });
  EXPECT_NE(text.find("Muon does not work with --shard_update, because an orthogonal update needs "
                      "the whole gradient"),
            std::string::npos)
      << text;
  Features features;
  features.Add({Feature::kMatrices});
  features.Add({Feature::kGpu, "--gpu=0"});
  EXPECT_EQ(RefusalsOf(features).size(), 1u);
}

}  // namespace
}  // namespace doppio
