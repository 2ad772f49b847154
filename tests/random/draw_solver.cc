// Random solvers. The rows of rules and policies draw the fields that only they read.
#include <algorithm>

#include "core/net/spec/prototxt.h"
#include "core/net/spec/state_rule.h"
#include "tests/random/layer_row.h"
#include "tests/random/random_case.h"
#include "tests/random/source_row.h"

namespace doppio {
namespace {

// Adds fields in text to the solver. Fields of later calls count.
void Merge(const std::string& text, SolverParameter* solver) {
  SolverParameter given;
  ParseText(text, "a solver's row", &given);
  solver->MergeFrom(given);
}

// Returns true if a source of the TEST net has a known number of samples, so that a test without
// test_iter ends.
bool HasEpochs(const NetParameter& net) {
  return std::any_of(net.layer().begin(), net.layer().end(), [](const LayerParameter& layer) {
    if (layer.include_size() > 0 && !HasPhase(layer, TEST)) return false;
    const std::string backend = DataParameter::DB_Name(layer.data_param().backend());
    const SourceRow* row = SourceRows::Get().Find(layer.type());
    if (row == nullptr) row = SourceRows::Get().Find(layer.type() + "/" + backend);
    return row != nullptr && !row->endless;
  });
}

// Draws when the solver tests. The last batch of a whole pass may be smaller than the others, which
// layers that combine samples need not accept.
void DrawTests(Draw* draw, const NetParameter& net, SolverParameter* solver) {
  solver->set_test_interval(static_cast<int>(draw->Int(1, 3)));
  const bool whole = HasEpochs(net) && (TraitsOf(net) & LayerRow::kWholeBatch) == 0;
  const int nets = draw->Chance(0.1) ? 2 : 1;
  if (!whole || draw->Chance(0.7)) {
    for (int i = 0; i < nets; ++i) solver->add_test_iter(static_cast<int>(draw->Int(1, 3)));
  }
  if (draw->Chance(0.1)) {
    for (int i = 0; i < nets; ++i)
      solver->add_test_state()->add_stage(draw->Of<std::string>({"a", "b", "c"}));
  }
  if (draw->Chance(0.4)) solver->set_test_initialization(draw->Chance(0.4));
  if (draw->Chance(0.3)) solver->set_test_compute_loss(draw->Chance(0.7));
  if (draw->Chance(0.2)) solver->set_test_last(draw->Chance(0.3));
}

void DrawSnapshots(Draw* draw, SolverParameter* solver) {
  if (draw->Chance(0.1)) solver->set_snapshot(static_cast<int>(draw->Int(1, 3)));
  if (draw->Chance(0.3)) solver->set_snapshot_format(SolverParameter::HDF5);
  if (draw->Chance(0.7)) solver->set_snapshot_after_train(draw->Chance(0.2));
}

}  // namespace

SolverParameter DrawSolver(uint64_t seed, const NetParameter& net) {
  Draw draw(seed, "solver");
  SolverParameter solver;
  const std::string policy = draw.Of(PolicyRows::Get().Names()),
                    rule = draw.Of(RuleRows::Get().Names());
  Merge(DrawSolverFields(&draw), &solver);
  Merge(PolicyRows::Get().Find(policy)->draw(&draw), &solver);
  Merge(RuleRows::Get().Find(rule)->draw(&draw), &solver);
  solver.set_lr_policy(policy);
  if (rule != "SGD" || draw.Chance(0.5)) solver.set_type(rule);
  solver.set_random_seed(draw.Int(0, 1000000));
  solver.set_max_iter(static_cast<int>(draw.Int(3, 6)));
  if (draw.Chance(0.35)) solver.set_iter_size(static_cast<int>(draw.Int(2, 3)));
  if (draw.Chance(0.5)) solver.set_display(static_cast<int>(draw.Int(0, 2)));
  if (draw.Chance(0.1)) solver.mutable_train_state()->add_stage(draw.Of<std::string>({"b", "c"}));
  if (draw.Chance(0.85)) DrawTests(&draw, net, &solver);
  DrawSnapshots(&draw, &solver);
  return solver;
}

}  // namespace doppio
