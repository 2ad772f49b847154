#include "tests/random/compose.h"

#include <algorithm>

#include "core/base/text/split_at.h"
#include "core/net/contract/fusion.h"
#include "core/net/spec/prototxt.h"
#include "core/net/spec/upgrade.h"
#include "tests/random/random_case.h"

namespace doppio {
namespace {

constexpr int kMostLayers = 28;  // before losses and scores, whose rows add a few more

std::string DrawRules(Draw* draw) {
  return draw->Of<std::string>({
      "include { phase: TRAIN }", "include { phase: TEST }", "exclude { phase: TEST }",
      "exclude { phase: TRAIN }",
      "include { phase: TRAIN stage: 'a' } include { phase: TEST min_level: 1 }",
      "include { stage: 'a' max_level: 0 }", "exclude { not_stage: 'a' }",
      "include { stage: 'b' }",  // only solvers set it
  });
}

// Returns those of `types` that continue, behind a layer of the given type, a chain that one kernel
// computes.
std::vector<std::string> FollowersOf(const std::string& type,
                                     const std::vector<std::string>& types) {
  std::vector<std::string> followers;
  for (const std::string& chain : FusionTypes::Get().Names()) {
    const std::vector<std::string> links = SplitAt(chain, '+');
    for (size_t i = 0; i + 1 < links.size(); ++i) {
      const bool known = std::count(types.begin(), types.end(), links[i + 1]) > 0;
      if (links[i] == type && known) followers.push_back(links[i + 1]);
    }
  }
  return followers;
}

bool IsNorm(const std::string& type) { return type == "BatchNorm" || type == "BN"; }

const std::set<std::string>& OldTypes() {
  static const auto* const types = [] {
    auto* names = new std::set<std::string>;
    for (int type = V1LayerParameter::LayerType_MIN; type <= V1LayerParameter::LayerType_MAX;
         ++type) {
      if (V1LayerParameter::LayerType_IsValid(type))
        names->insert(TypeName(static_cast<V1LayerParameter::LayerType>(type)));
    }
    return names;
  }();
  return *types;
}

// Returns true if the plan allows all layers from number `first` on.
bool Allows(const NetPlan& plan, const NetDraft& draft, int first) {
  if (plan.learning == NetPlan::kWithoutParameters && !draft.graph().params.empty()) return false;
  NetParameter added;
  for (int i = first; i < draft.net().layer_size(); ++i) {
    const LayerParameter& layer = draft.net().layer(i);
    if (NetDraft::IsStandIn(layer)) continue;
    if (plan.old_types && OldTypes().count(layer.type()) == 0) return false;
    if (!plan.norms || !IsNorm(layer.type())) *added.add_layer() = layer;
  }
  return (TraitsOf(added) & plan.avoided) == 0;
}

}  // namespace

NetPlan DrawNetPlan(Draw* draw) {
  NetPlan plan;
  plan.batch = draw->Of<int64_t>({1, 2, 2, 3, 4, 4, 4, 5, 6, 6, 6, 7, 8, 8, 12, 12, 17, 33});
  plan.test_batch = plan.batch;
  if (draw->Chance(0.35)) plan.test_batch += draw->Of<int64_t>({1, 1, 2, 3, 5});
  if (draw->Chance(0.1)) plan.test_batch = draw->Int(1, plan.batch);
  plan.records = draw->Of<int64_t>({7, 12, 20, 20, 23, 24, 35});
  plan.classes = draw->Of<int64_t>({2, 3, 5, 7, 10, 10, 17});
  const bool rich = draw->Chance(0.7);
  plan.layers = static_cast<int>(rich ? draw->Int(8, 14) : draw->Int(1, 7));
  if (rich && draw->Chance(0.2)) plan.layers = static_cast<int>(draw->Int(15, 25));
  plan.branches = rich ? static_cast<int>(draw->Int(2, 4)) : 0;
  plan.shared = rich || draw->Chance(0.2) ? static_cast<int>(draw->Of<int64_t>({1, 1, 2})) : 0;
  plan.losses = static_cast<int>(rich ? draw->Of<int64_t>({1, 1, 1, 2, 2, 3}) : 1);
  plan.scores = static_cast<int>(rich ? draw->Of<int64_t>({0, 1, 1, 2}) : draw->Int(0, 1));
  if (draw->Chance(0.4)) plan.avoided |= LayerRow::kNoOracle;
  if (draw->Chance(0.4)) plan.avoided |= LayerRow::kWholeBatch | LayerRow::kState;
  if (draw->Chance(0.2)) plan.avoided |= LayerRow::kRandom;
  if (draw->Chance(0.12)) plan.avoided |= LayerRow::kKinks | LayerRow::kJumps;
  plan.norms = draw->Chance(0.5);
  plan.old_types = draw->Chance(0.06);
  if (draw->Chance(0.05)) {
    plan.learning = draw->Of<NetPlan::Learning>(
        {NetPlan::kWithoutLoss, NetPlan::kWithoutParameters, NetPlan::kFrozen});
  }
  return plan;
}

std::vector<std::string> TypesAt(LayerRow::Place place, const NetPlan& plan) {
  std::vector<std::string> types;
  for (const std::string& type : LayerRows::Get().Names()) {
    const LayerRow& row = *LayerRows::Get().Find(type);
    if (row.place != place || row.draw == nullptr || row.weight <= 0) continue;
    const bool named = place == LayerRow::kInner && !plan.types.empty();
    if (named ? plan.types.count(type) == 0 : (row.traits & LayerRow::kOutside) != 0) continue;
    if (plan.old_types && OldTypes().count(type) == 0) continue;
    // Traits of other rows depend on the fields.
    const bool always = row.traits_of == nullptr && !(plan.norms && IsNorm(type));
    if (always && (row.traits & plan.avoided) != 0) continue;
    types.push_back(type);
  }
  return types;
}

bool DrawWithin(const NetPlan& plan, NetDraft* draft, const std::function<bool()>& draw) {
  const NetDraft before = *draft;
  const int first = before.net().layer_size();
  const bool drawn = draw();
  if (Allows(plan, *draft, first)) return drawn;
  *draft = before;
  return false;
}

bool DrawLimitedLayer(const std::vector<std::string>& types, NetDraft* draft) {
  NetParameter rules;
  const std::string text = "layer { " + DrawRules(&draft->draw()) + " }";
  ParseText(text, "rules", &rules);
  const int first = draft->net().layer_size();
  if (!DrawLayer(types, draft)) return false;
  for (const DraftBlob& top : draft->tops()) {
    if (!top.filter.empty()) return true;  // its readers would miss it in the other phase
  }
  const int last = draft->net().layer_size() - 1;
  if (draft->draw().Chance(0.6)) WeighTop(last, 0, draft);
  draft->Change([&](NetParameter* net) {
    for (int i = first; i < net->layer_size(); ++i) {
      LayerParameter* layer = net->mutable_layer(i);
      if (!NetDraft::IsStandIn(*layer) && layer->include_size() + layer->exclude_size() == 0)
        layer->MergeFrom(rules.layer(0));
    }
  });
  return true;
}

// Lets layers with parameters read the sources of values, so that parameters learn behind most
// layers.
void AddFirstLayers(const NetPlan& plan, const std::vector<std::string>& types, NetDraft* draft) {
  std::vector<std::string> first;
  for (const char* type :
       {"BN", "Bias", "Convolution", "Deconvolution", "InnerProduct", "PReLU", "Scale"}) {
    if (std::count(types.begin(), types.end(), type) > 0) first.push_back(type);
  }
  if (first.empty() || plan.learning == NetPlan::kWithoutParameters) return;
  const std::vector<DraftBlob> sources = draft->blobs();
  for (const DraftBlob& source : sources) {
    if (source.kind != BlobKind::kValues || draft->draw().Chance(0.1)) continue;
    DrawWithin(plan, draft, [&] { return DrawLayer(first, draft); });
  }
}

void AddInnerLayers(const NetPlan& plan, NetDraft* draft) {
  const std::vector<std::string> types = TypesAt(LayerRow::kInner, plan);
  if (types.empty()) return;
  Draw& draw = draft->draw();
  const bool learns = plan.learning != NetPlan::kWithoutParameters;
  const auto wants_more = [&] {
    const CaseFacts facts = FactsOf(draft->net());
    // Find prefers blobs that are read as long as the plan lacks branches at its end.
    draft->set_branching(facts.branches >= plan.branches ? 0.15
                         : facts.layers >= plan.layers   ? 1.0
                                                         : 0.35);
    return facts.layers < kMostLayers &&
           (facts.layers < plan.layers || facts.branches < plan.branches ||
            (learns && facts.shared < plan.shared));
  };
  const auto add = [&] {
    if (draw.Chance(0.06)) return DrawLimitedLayer(types, draft);
    const std::string& last = draft->net().layer(draft->net().layer_size() - 1).type();
    const std::vector<std::string> followers = FollowersOf(last, types);
    if (followers.empty() || draw.Chance(0.5)) return DrawLayer(types, draft);
    draft->set_follows(true);
    const bool drawn = DrawLayer(followers, draft);
    draft->set_follows(false);
    return drawn;
  };
  AddFirstLayers(plan, types, draft);
  for (int tries = 0; wants_more() && tries < 6 * plan.layers + 20; ++tries) {
    const CaseFacts facts = FactsOf(draft->net());
    const bool shares = learns && facts.shared < plan.shared && facts.layers > plan.layers / 2;
    if (shares && draw.Chance(0.5) && ShareParameters(draft)) continue;
    draft->set_prefers_learning(draw.Chance(0.9));
    DrawWithin(plan, draft, add);
  }
  draft->set_prefers_learning(false);
  draft->set_branching(0.2);
}

}  // namespace doppio
