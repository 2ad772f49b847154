// How to draw each layer type: a row per type, registered beside the tests of the type
// (tests/layers/ROOM/ROOM_rows.cc). coverage_test fails for a registered type without a row, and
// for a field of its messages that no row draws and no row names as left out.
//
//   DOPPIO_REGISTER(LayerRows, "Pooling", {&DrawPooling, LayerRow::kKinks});
#ifndef DOPPIO_TESTS_RANDOM_LAYER_ROW_H_
#define DOPPIO_TESTS_RANDOM_LAYER_ROW_H_

#include <map>
#include <string>
#include <vector>

#include "core/base/registry.h"
#include "tests/random/net_draft.h"

namespace doppio {

struct LayerRow {
  // Traits: what a layer of the type cannot promise. Relations ask for the union over a net.
  enum Trait : unsigned {
    // The derivative jumps at some inputs, so finite differences are wrong there.
    kKinks = 1,
    // The results jump at some inputs (indices, selections): rounding may change them wholly.
    kJumps = 2,
    // A sample's results depend on the other samples of its batch. A divided batch differs.
    kWholeBatch = 4,
    // Draws random numbers, which depend on the layer's name and on the position in the data.
    kRandom = 8,
    // Carries state from pass to pass besides its parameters (running statistics, sequences).
    kState = 16,
    // Has no kernel for some precision or engine, or computes only on the host.
    kHostOnly = 32,
    // Its forward has no backward.
    kNoBackward = 64,
    // Writes files or reads a device of the outside world: only drawn where a relation asks.
    kOutside = 128,
    // Has no version in the oracle.
    kNoOracle = 256,
    // Replaces probabilities below a limit before it takes their logarithm, but not in its
    // gradient.
    kCutsLogarithm = 512,
  };

  // Adds a layer of the type, with what it needs, and returns true; or returns false if the draft
  // has nothing that the layer can read. Fields get drawn values, including their extremes.
  bool (*draw)(NetDraft* draft) = nullptr;
  unsigned traits = 0;
  // How often the type is drawn beside the others: 1 is usual.
  double weight = 1;
  // Fields of the type's messages that are never drawn, with the reason.
  std::map<std::string, std::string> left_out = {};
  // True for layers that produce data and for losses and scores, which are drawn at the beginning
  // and the end of a net.
  enum Place { kSource, kInner, kLoss, kScore } place = kInner;
  // Returns the traits of one layer, if they depend on its fields. `traits` is then their union
  // over all layers of the type.
  unsigned (*traits_of)(const LayerParameter& layer) = nullptr;
};

using LayerRows = Registry<LayerRow>;

}  // namespace doppio

#endif  // DOPPIO_TESTS_RANDOM_LAYER_ROW_H_
