// Gives the layers, blobs and shared parameters of a net other names.
#ifndef DOPPIO_TESTS_RANDOM_NEW_NAMES_H_
#define DOPPIO_TESTS_RANDOM_NEW_NAMES_H_

#include <map>
#include <string>

#include "proto/net.pb.h"
#include "tests/random/draw.h"
#include "tests/random/outcome.h"

namespace doppio {

// The old names by the new ones.
struct NewNames {
  std::map<std::string, std::string> layers, blobs;

  // Returns the old name of a layer, or of a layer that a fused one was split into (NAME_scale).
  std::string OldLayer(const std::string& name) const;
  // Returns the outcome of the net with new names under the old ones.
  Outcome Old(const Outcome& outcome) const;
};

// Renames everything in `net` but its sources, whose random numbers depend on their names. New
// names have characters that formats of files must escape.
NewNames GiveNewNames(Draw* draw, NetParameter* net);

}  // namespace doppio

#endif  // DOPPIO_TESTS_RANDOM_NEW_NAMES_H_
