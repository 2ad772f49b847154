#include "core/net/spec/state_rule.h"

#include <algorithm>
#include <vector>

namespace doppio {
namespace {

template <class Names>
bool Has(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool MeetsPhase(Phase phase, const NetStateRule& rule) {
  return !rule.has_phase() || rule.phase() == phase;
}

// Returns true if the state meets all conditions of the rule.
bool Meets(const NetState& state, const NetStateRule& rule) {
  const auto here = [&](const std::string& stage) { return Has(state.stage(), stage); };
  return MeetsPhase(state.phase(), rule) &&
         !(rule.has_min_level() && state.level() < rule.min_level()) &&
         !(rule.has_max_level() && state.level() > rule.max_level()) &&
         std::all_of(rule.stage().begin(), rule.stage().end(), here) &&
         std::none_of(rule.not_stage().begin(), rule.not_stage().end(), here);
}

template <class Rules>
bool MeetsAny(const NetState& state, const Rules& rules) {
  return std::any_of(rules.begin(), rules.end(),
                     [&](const NetStateRule& rule) { return Meets(state, rule); });
}

std::string StageText(const std::string& stage) { return "stage '" + stage + "'"; }

// Returns the conditions of a rule: "in TRAIN with stage 'one' from level 2".
std::string RuleText(const NetStateRule& rule) {
  std::string text;
  if (rule.has_phase()) text += " in " + Phase_Name(rule.phase());
  for (const std::string& stage : rule.stage()) text += " with " + StageText(stage);
  for (const std::string& stage : rule.not_stage()) text += " without " + StageText(stage);
  if (rule.has_min_level()) text += " from level " + std::to_string(rule.min_level());
  if (rule.has_max_level()) text += " up to level " + std::to_string(rule.max_level());
  return text.empty() ? "always" : text.substr(1);
}

// Returns the stages and the level of a state, as far as a rule asks for them.
std::string StateText(const NetState& state, const NetStateRule& rule) {
  std::string text;
  if (rule.stage_size() + rule.not_stage_size() > 0) {
    for (const std::string& stage : state.stage())
      text += (text.empty() ? "" : ", ") + StageText(stage);
    if (text.empty()) text = "no stage";
  }
  if (rule.has_min_level() || rule.has_max_level())
    text += (text.empty() ? "" : " and ") + ("level " + std::to_string(state.level()));
  return text;
}

// Returns how to set the stages and the level of a net.
std::string HowToSet(Phase phase) {
  if (phase == TRAIN) return "--stage and --level, or the solver's train_state, set them";
  return "the solver's test_state sets them; --stage and --level do so for a net without a solver";
}

}  // namespace

bool Included(const LayerParameter& layer, const NetState& state) {
  if (layer.include_size() > 0) return MeetsAny(state, layer.include());
  return !MeetsAny(state, layer.exclude());
}

bool HasPhase(const LayerParameter& layer, Phase phase) {
  const auto meets = [&](const NetStateRule& rule) { return MeetsPhase(phase, rule); };
  return std::any_of(layer.include().begin(), layer.include().end(), meets);
}

std::string WhyLeftOut(const LayerParameter& layer, const NetState& state) {
  const bool excluded = layer.include_size() == 0;
  // The rule that decides: the first one that is met, or that only the stages and the level fail.
  const NetStateRule* decides = nullptr;
  std::string text = excluded ? "it is excluded " : "it is included only ";
  bool first = true;
  for (const NetStateRule& rule : excluded ? layer.exclude() : layer.include()) {
    if (excluded && !Meets(state, rule)) continue;
    text += (first ? "" : " or ") + RuleText(rule);
    first = false;
    if (decides == nullptr && MeetsPhase(state.phase(), rule)) decides = &rule;
  }
  const std::string has = decides == nullptr ? "" : StateText(state, *decides);
  if (has.empty()) return text + "; add one for " + Phase_Name(state.phase());
  return text + ", and this net has " + has + "; " + HowToSet(state.phase());
}

std::string InNet(const NetState& state) {
  return "in the " + Phase_Name(state.phase()) + " net: ";
}

}  // namespace doppio
