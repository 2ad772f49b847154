// New names of layers, blobs and shared parameters change nothing. Layers draw their start weights
// by their names, so the net with new names begins with the weights of the other one.
#include "core/net/contract/plain_blob.h"
#include "tests/random/layer_row.h"
#include "tests/random/new_names.h"
#include "tests/random/pruned.h"
#include "tests/random/relation.h"

namespace doppio {
namespace {

// Sources keep their names.
bool DrawsByName(const LayerParameter& layer) {
  const unsigned traits = LayerRow::kRandom | LayerRow::kOutside;
  return layer.bottom_size() > 0 && (TraitsOfLayer(layer) & traits) != 0;
}

using StartWeights = std::map<std::pair<std::string, int>, std::vector<float>>;

StartWeights Copy(Trainer* trainer) {
  StartWeights weights;
  for (const Param& param : trainer->params().params()) {
    if (!param.value) continue;
    weights[{param.layer, param.index}] = ReadTensor(param.value, param.device).data;
  }
  return weights;
}

void Restore(const StartWeights& weights, const NewNames& names, Trainer* trainer) {
  for (const Param& param : trainer->params().params()) {
    const auto found = weights.find({names.OldLayer(param.layer), param.index});
    if (found == weights.end() || !param.value) continue;
    WriteTensor(found->second, param.value, param.device);
  }
}

std::string CheckNames(const RandomCase& random_case, Draw* draw, const std::string& folder) {
  Way way;
  way.folder = folder;
  StartWeights weights;
  way.before = [&](Trainer* trainer) { weights = Copy(trainer); };
  const std::optional<RandomCase> pruned = Pruned(random_case, &DrawsByName, folder);
  if (!pruned) return "";
  const Outcome outcome = Run(*pruned, way);
  RandomCase renamed = *pruned;
  const NewNames names = GiveNewNames(draw, &renamed.net);
  Way again = way;
  again.before = [&](Trainer* trainer) { Restore(weights, names, trainer); };
  const Outcome other = Run(renamed, again);
  way.before = nullptr;
  // Outputs and losses come in the order of their names.
  return Compared(*pruned, names.Old(other), outcome, kRounding, folder, way);
}

DOPPIO_REGISTER(Relations, "names", {&CheckNames, &Always});

}  // namespace
}  // namespace doppio
