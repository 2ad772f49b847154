// A net whose layers are placed on two parts of the CPU trains as on one device, also with
// micro-batches (docs/parallel.md).
#include <algorithm>
#include <set>
#include <vector>

#include "tests/random/divisible.h"
#include "tests/random/layer_row.h"
#include "tests/random/pruned.h"
#include "tests/random/relation.h"

namespace doppio {
namespace {

// Returns the positions before which the net can be cut: no parameter has users on both sides, and
// both sides have layers that read something.
std::vector<int> CutsOf(const NetParameter& net) {
  std::vector<int> cuts;
  for (int cut = 1; cut < net.layer_size(); ++cut) {
    std::set<std::string> before;
    bool crosses = false, reads = false;
    for (int i = 0; i < net.layer_size(); ++i) {
      const LayerParameter& layer = net.layer(i);
      reads |= i < cut && layer.bottom_size() > 0;
      for (const ParamSpec& param : layer.param()) {
        if (param.name().empty()) continue;
        if (i < cut) before.insert(param.name());
        crosses |= i >= cut && before.count(param.name()) > 0;
      }
    }
    if (!crosses && reads && net.layer(cut).bottom_size() > 0) cuts.push_back(cut);
  }
  return cuts;
}

// Returns a rule for each layer with bottoms. A source is computed with its first reader.
std::string RulesFor(const NetParameter& net, int cut) {
  std::string rules;
  for (int i = 0; i < net.layer_size(); ++i) {
    const LayerParameter& layer = net.layer(i);
    if (layer.bottom_size() == 0) continue;
    rules += (rules.empty() ? "" : ",") + layer.name() + (i < cut ? "=cpu:0" : "=cpu:1");
  }
  return rules;
}

// A rule's pattern cannot hold every name.
bool HasPlainNames(const NetParameter& net) {
  return std::all_of(net.layer().begin(), net.layer().end(), [](const LayerParameter& layer) {
    return layer.name().find_first_of("*?=,[] ") == std::string::npos && !layer.name().empty();
  });
}

bool PlacedApplies(const RandomCase& random_case) {
  // The table of combinations refuses Muon on several devices.
  return random_case.solver.type() != "Muon" && HasNone(random_case, LayerRow::kOutside) &&
         HasPlainNames(random_case.net) && !CutsOf(random_case.net).empty();
}

std::string CheckPlaced(const RandomCase& random_case, Draw* draw, const std::string& folder) {
  const int parts = draw->Of<int>({1, 2, 2, 3});
  RandomCase whole = random_case;
  if (parts > 1) {
    const std::optional<RandomCase> pruned = Pruned(random_case, &NeedsWholeBatch, folder);
    if (pruned && !CutsOf(pruned->net).empty()) whole = *pruned;
  }
  const int cut = draw->Of(CutsOf(whole.net));
  Way one;
  one.folder = folder;
  one.threads = 1;
  Way placed = one;
  placed.threads = 2;  // one for each device
  placed.place = RulesFor(whole.net, cut);
  MakeDivisible(&whole.net, parts);
  const auto& layers = whole.net.layer();
  const bool divides = parts > 1 && LossesAreMeans(whole, one) &&
                       std::none_of(layers.begin(), layers.end(), &NeedsWholeBatch);
  placed.microbatches = divides ? parts : 1;
  const Outcome outcome = Run(whole, placed);
  if (Declined(outcome)) return "";
  // With micro-batches, the outputs of the train net are those of the first one.
  const std::set<std::string> kinds =
      divides ? std::set<std::string>{"output"} : std::set<std::string>();
  return Compared(whole, Without(outcome, kinds), Without(Run(whole, one), kinds), kRounding,
                  folder, one);
}

DOPPIO_REGISTER(Relations, "placed", {&CheckPlaced, &PlacedApplies});

}  // namespace
}  // namespace doppio
