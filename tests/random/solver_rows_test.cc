// Tests the rows of rules and policies together with the other fields of a solver.
#include <gtest/gtest.h>

#include <utility>

#include "core/base/log.h"
#include "core/net/spec/solver_fields.h"
#include "solvers/update/lr_policy.h"
#include "solvers/update/rule_check.h"
#include "tests/random/source_row.h"

namespace doppio {
namespace {

constexpr uint64_t kSolverDraws = 100;

// Adds fields in text to a solver.
void AddText(const std::string& text, SolverParameter* solver) {
  SolverParameter fields;
  ParseText(text, "row.prototxt", &fields);
  solver->MergeFrom(fields);
}

// Expects a solver to be legal and its rates to be small for so many iterations.
void ExpectSmallRates(const SolverParameter& solver, int64_t iterations) {
  ErrorCollector mistakes;
  CheckSolverFields(solver, FieldPlaces(), &mistakes);
  EXPECT_TRUE(mistakes.empty());
  ASSERT_NO_THROW({
    CheckRule(solver, FieldPlaces());
    LrPolicy policy(solver, FieldPlaces(), iterations);
    for (int64_t i = 0; i < iterations; ++i) {
      const double rate = policy.Rate(i, 1);
      EXPECT_GE(rate, 0);
      EXPECT_LE(rate, 0.01001);
    }
  });
}

// solver_coverage_test checks rules and policies by themselves.
TEST(SolverRows, DrawLegalSolversOfAllRulesAndPolicies) {
  const int level = std::exchange(FLAGS_minloglevel, google::GLOG_WARNING);  // plateau logs steps
  for (const std::string& rule : RuleRows::Get().Names()) {
    for (const std::string& policy : PolicyRows::Get().Names()) {
      for (uint64_t seed = 0; seed < kSolverDraws; ++seed) {
        Draw draw(seed, rule + policy);
        SolverParameter solver;
        AddText(RuleRows::Get().Find(rule)->draw(&draw), &solver);
        AddText(PolicyRows::Get().Find(policy)->draw(&draw), &solver);
        AddText(DrawSolverFields(&draw), &solver);
        solver.set_type(rule);
        solver.set_lr_policy(policy);
        SCOPED_TRACE(solver.ShortDebugString());
        for (const int64_t iterations : {3, 10}) ExpectSmallRates(solver, iterations);
      }
    }
  }
  FLAGS_minloglevel = level;
}

}  // namespace
}  // namespace doppio
