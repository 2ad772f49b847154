// Composes random nets from the rows of layer types and sources: first a plan, then the layers that
// reach it.
#ifndef DOPPIO_TESTS_RANDOM_COMPOSE_H_
#define DOPPIO_TESTS_RANDOM_COMPOSE_H_

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tests/random/layer_row.h"
#include "tests/random/net_draft.h"

namespace doppio {

struct NetPlan {
  int64_t batch = 1, test_batch = 1;
  int64_t records = 20, classes = 5;  // of the sources
  int layers = 1;                     // between sources and losses, at least
  int branches = 0, shared = 0;       // at least (CaseFacts)
  int losses = 1, scores = 0;
  // Whether the net learns, or why it learns nothing: it has no loss, no parameters, or only frozen
  // ones.
  enum Learning { kSome, kWithoutLoss, kWithoutParameters, kFrozen } learning = kSome;
  // Traits that no layer has, so that there are cases for each relation. With `norms`, BatchNorm
  // and BN may have them, because replicas can sum their statistics.
  unsigned avoided = 0;
  bool norms = false;
  bool old_types = false;       // only types that V1 layers have
  std::set<std::string> types;  // if not empty, the only types between sources and losses
};
// More than half of the plans have at least 8 layers, 2 branches and a shared parameter.
NetPlan DrawNetPlan(Draw* draw);

// Returns the types with rows at a place that the plan may have. Layers of the outside world are
// not among them, unless `types` names them.
std::vector<std::string> TypesAt(LayerRow::Place place, const NetPlan& plan);
// Lets `draw` add layers. Takes them back, and returns false, if the plan excludes one of them.
bool DrawWithin(const NetPlan& plan, NetDraft* draft, const std::function<bool()>& draw);

// Adds sources of images with labels, and often of other values. Text and files of the sources come
// from the rows of source_row.h.
void AddSources(const NetPlan& plan, NetDraft* draft);
// Lets the row of one of the types draw a layer, by the rows' weights. Then often puts the layer in
// place, or gives its parameters rates. Returns false if the row finds nothing to read.
bool DrawLayer(const std::vector<std::string>& types, NetDraft* draft);
// Lets a row draw layers that belong only to some phases or stages, and whose tops no other layer
// reads.
bool DrawLimitedLayer(const std::vector<std::string>& types, NetDraft* draft);
// Lets the values of a top of layer number `index` add to the loss with a small weight. Returns
// false if the graph refuses that or the top has a weight.
bool WeighTop(int index, int top, NetDraft* draft);
// Makes parameters of two layers one: adds a copy of a layer that shares its parameters, or lets
// layers share that the net has. Returns false if it finds none.
bool ShareParameters(NetDraft* draft);
// Draws the multipliers of the parameters of layer number `index`.
void DrawMultipliers(int index, NetDraft* draft);
// Sets all learning rates to 0.
void FreezeParameters(NetDraft* draft);

// Adds the plan's layers between sources and losses.
void AddInnerLayers(const NetPlan& plan, NetDraft* draft);
// Adds losses, scores and Silence layers.
void AddEnds(const NetPlan& plan, NetDraft* draft);

}  // namespace doppio

#endif  // DOPPIO_TESTS_RANDOM_COMPOSE_H_
