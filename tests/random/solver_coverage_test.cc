// Checks that random solvers have every update rule, every policy of the learning rate, and every
// field that has an effect.
#include <gtest/gtest.h>

#include <set>

#include "core/net/spec/prototxt.h"
#include "solvers/update/lr_policy.h"
#include "solvers/update/rule_check.h"
#include "tests/random/random_case.h"
#include "tests/random/source_row.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

using google::protobuf::FieldDescriptor;
using SolverNames = std::set<std::string>;

SolverNames SetOf(const std::vector<std::string>& names) {
  return SolverNames(names.begin(), names.end());
}

SolverParameter ParsedSolver(const std::string& text) {
  SolverParameter solver;
  ParseText(text, "solver", &solver);
  return solver;
}

TEST(SolverCoverage, HasARowForEveryRuleAndPolicy) {
  EXPECT_EQ(SetOf(RuleRows::Get().Names()), SetOf(RuleNames()));
  EXPECT_EQ(SetOf(PolicyRows::Get().Names()), SetOf(LrPolicyNames()));
}

TEST(SolverCoverage, DrawsLegalRulesAndPolicies) {
  constexpr int64_t kLeastIterations = 3;
  for (int i = 0; i < 300; ++i) {
    for (const std::string& name : RuleRows::Get().Names()) {
      Draw draw(static_cast<uint64_t>(i), name);
      const std::string text = RuleRows::Get().Find(name)->draw(&draw);
      SolverParameter solver = ParsedSolver(text);
      solver.set_type(name);
      EXPECT_EQ(MistakeIfAny([&] { CheckRule(solver, FieldPlaces()); }), "")
          << name << ": " << text;
    }
    for (const std::string& name : PolicyRows::Get().Names()) {
      Draw draw(static_cast<uint64_t>(i), name);
      const std::string text = PolicyRows::Get().Find(name)->draw(&draw);
      SolverParameter solver = ParsedSolver(text);
      solver.set_lr_policy(name);
      EXPECT_EQ(MistakeIfAny([&] { LrPolicy(solver, FieldPlaces(), kLeastIterations); }), "")
          << name << ": " << text;
    }
  }
}

TEST(SolverCoverage, DrawsEveryFieldOfSolversOrSaysWhyNot) {
  NetParameter net;
  ParseText("layer { name: 'data' type: 'HDF5Data' top: 'data' }", "net", &net);
  SolverNames drawn, gaps, stale;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const SolverParameter solver = DrawSolver(seed, net);
    std::vector<const FieldDescriptor*> set;
    solver.GetReflection()->ListFields(solver, &set);
    for (const FieldDescriptor* field : set) drawn.insert(field->name());
  }
  const google::protobuf::Descriptor& type = *SolverParameter::descriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const std::string& field = type.field(i)->name();
    const bool seen = drawn.count(field) > 0, left_out = kSolverFieldsLeftOut.count(field) > 0;
    if (!seen && !left_out) gaps.insert(field);
    if (seen && left_out) stale.insert(field);
  }
  // No solver has a gap, and kSolverFieldsLeftOut gives no reason.
  EXPECT_EQ(gaps, SolverNames());
  EXPECT_EQ(stale, SolverNames());
  for (const auto& [field, reason] : kSolverFieldsLeftOut)
    EXPECT_NE(type.FindFieldByName(field), nullptr) << field << ": " << reason;
}

}  // namespace
}  // namespace doppio
