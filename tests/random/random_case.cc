#include "tests/random/random_case.h"

#include "tests/random/compose.h"

namespace doppio {

NetParameter DrawNet(uint64_t seed, const std::set<std::string>& types, DraftRecord* record) {
  Draw draw(seed, "net");
  NetPlan plan = DrawNetPlan(&draw);
  plan.types = types;
  if (!types.empty()) {  // the caller decides which layers the case has
    plan.avoided = 0;
    plan.old_types = false;
  }
  NetDraft draft(&draw, plan.batch, plan.test_batch);
  // Some files name layers by paths.
  draft.set_prefix(draw.Of<std::string>({"", "", "", "", "", "", "", "block/", "/"}));
  AddSources(plan, &draft);
  draft.Change([&](NetParameter* net) {
    net->set_name(draw.Of<std::string>({"net", "random net", "Netz/\303\244"}));
    if (draw.Chance(0.2)) net->mutable_state()->add_stage("a");
    if (draw.Chance(0.1)) net->mutable_state()->set_level(1);
  });
  AddInnerLayers(plan, &draft);
  AddEnds(plan, &draft);
  if (draw.Chance(0.04)) draft.Change([](NetParameter* net) { net->set_force_backward(true); });
  if (record != nullptr) {
    record->proposals += draft.proposals();
    for (const NetDraft::Refusal& refusal : draft.refusals())
      record->refusals.emplace_back(refusal.type, refusal.message);
    for (const auto& [type, count] : CountGradients(draft.graph())) {
      record->gradients[type].layers += count.layers;
      record->gradients[type].computing += count.computing;
    }
  }
  return draft.Finish();
}

RandomCase DrawCase(uint64_t seed, const std::set<std::string>& types, DraftRecord* record) {
  RandomCase random_case;
  random_case.net = DrawNet(seed, types, record);
  random_case.solver = DrawSolver(seed, random_case.net);
  random_case.traits = TraitsOf(random_case.net);
  return random_case;
}

}  // namespace doppio
