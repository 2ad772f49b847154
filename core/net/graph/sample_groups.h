// Groups of sources. The sources of a net that have the same number of samples and the same batch
// size form a group: sample i of each is one sample, so that all are shuffled, skipped, cropped and
// mirrored together (docs/data.md).
#ifndef DOPPIO_CORE_NET_GRAPH_SAMPLE_GROUPS_H_
#define DOPPIO_CORE_NET_GRAPH_SAMPLE_GROUPS_H_

#include <string>
#include <vector>

#include "core/base/sample_set.h"
#include "core/net/contract/warning.h"
#include "core/net/graph/graph.h"

namespace doppio {

// A source alone is a group of one, whose rule repeats what the source does by itself.
struct SampleGroup {
  std::vector<int> nodes;       // in the order of the net
  std::vector<int> crop_steps;  // GroupRule::crop_step of each
  int64_t rows = 0;             // of a batch
  GroupRule rule;               // without crop_step and usable
  std::string name;             // the first name of its layers, which decides the random numbers
  bool draws = false;           // the samples depend on random numbers that the sources share
};

// Returns the groups of all opened sources. The random numbers of a group do not depend on the
// order of the layers.
std::vector<SampleGroup> FindSampleGroups(const Graph& graph);

// Returns what may be unexpected: sources of different sizes, and random changes that a source of a
// group cannot follow.
std::vector<Warning> SampleWarnings(const Graph& graph);

// Returns a line for each group of several sources.
std::vector<std::string> SampleNotes(const Graph& graph);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_GRAPH_SAMPLE_GROUPS_H_
