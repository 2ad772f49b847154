// Finds what a test net predicts and what is right: the blobs that its loss or Accuracy compares.
#ifndef DOPPIO_SOLVERS_SCORES_SCORE_HEAD_H_
#define DOPPIO_SOLVERS_SCORES_SCORE_HEAD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/net/graph/graph.h"
#include "core/net/run/net.h"

namespace doppio {

// kClassifier: one class per sample; kSegmentation: one class per pixel; kRegression: numbers.
enum class HeadKind { kClassifier, kSegmentation, kRegression };

// The edges of a graph that an evaluation reads.
struct ScoreHead {
  HeadKind kind = HeadKind::kClassifier;
  int scores = 0, labels = 0;  // bottoms 0 and 1 of the layer
  int axis = 1;                // of the classes
  // The scores are probabilities already: a Softmax makes them.
  bool probabilities = false;
  std::optional<int> ignore;  // labels of this value do not count
  int image = -1;             // the blob of the images, of 1 or 3 channels; -1: there is none
  int heads = 1;              // different blobs of scores in the net; this is the first one
  std::string layer;          // the layer that compares them

  int64_t classes(const Graph& graph) const { return graph.edges[scores].shape[axis]; }
};

// Returns the first head of a net: the bottoms of its first SoftmaxWithLoss or Accuracy whose
// labels are classes, or else of its first EuclideanLoss, L1Loss or SmoothL1Loss. Leaves out layers
// of which a Filter removes rows. Returns nothing for other nets.
std::optional<ScoreHead> FindScoreHead(const Graph& graph);

// Makes the plan of a net show the edges that its evaluation reads (PlanOptions::shown).
void ShowHead(const Graph& graph, PlanOptions* options);

// Copies the values of an edge that the plan shows to the host, row-major.
std::vector<float> ReadEdge(const Net& net, int edge);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_SCORES_SCORE_HEAD_H_
