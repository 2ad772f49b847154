// Adds up the results of a test's batches. A score that is a ratio of sums over a batch is divided
// only at the end (core/net/contract/counted_score.h), so it depends neither on the size of the
// batches nor on the number of ranks. Every other output is a mean over the batches.
#ifndef DOPPIO_SOLVERS_SCORES_SCORE_SUMS_H_
#define DOPPIO_SOLVERS_SCORES_SCORE_SUMS_H_

#include <string>
#include <vector>

#include "core/net/contract/communicator.h"
#include "core/net/run/net.h"
#include "solvers/scores/outputs.h"

namespace doppio {

class ScoreSums {
 public:
  // For a test whose full batches run in `net`.
  explicit ScoreSums(const Net& net);

  // Adds the last forward pass of `net`: the net of full batches, or the same net with `share` of
  // their rows.
  void Add(const Net& net, double share);
  // Gives every rank the sums of all ranks. Collective.
  void SumOverRanks(Communicator* ranks);

  // Returns the scores in the order of net.outputs(). Leaves out elements that no batch had. `net`
  // is the net of the constructor, `class_names` the names of the classes by label.
  std::vector<OutputValue> Scores(const Net& net,
                                  const std::vector<std::string>& class_names) const;
  // Returns the weighted sum of the losses.
  double Loss(const Net& net) const;

 private:
  // An output of the net, or a loss that another layer reads.
  struct Blob {
    int edge = 0;
    bool output = true;
    bool counted = false;  // its numbers are those of CountedScore
    size_t size = 0;       // elements in a full batch
    size_t first = 0;      // the first of its numbers in sums_
    size_t count = 0;      // how many they are
  };
  // The numbers of a blob that is not counted are a weighted sum and the sum of its weights, first
  // for the sum of all elements, which is what a loss adds to the net's loss, and then, for an
  // output, for each element.
  void AddMeans(const Blob& blob, const std::vector<double>& values, double share);
  std::vector<double> SumsOf(const Blob& blob) const;

  std::vector<Blob> blobs_;
  std::vector<double> sums_;
};

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_SCORES_SCORE_SUMS_H_
