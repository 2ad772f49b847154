// The mean of several files of weights of one net: stochastic weight averaging (Izmailov et al.,
// "Averaging Weights Leads to Wider Optima and Better Generalization", 2018) of snapshots of one
// training, or a soup of fine-tuned nets (Wortsman et al., "Model soups", 2022).
#ifndef DOPPIO_TOOLS_EXPORT_WEIGHT_MEAN_H_
#define DOPPIO_TOOLS_EXPORT_WEIGHT_MEAN_H_

#include <string>
#include <vector>

#include "core/net/store/weights.h"

namespace doppio {

// Adds up files of weights, one after the other.
class WeightMean {
 public:
  // Adds the values of a file. Throws FileError for each blob that this file or the first one lacks
  // or that has another shape; there is no mean then.
  void Add(WeightsFile file);
  // Returns the element-wise mean of the values, with the layers and the preprocessing of the first
  // file. Requires an Add.
  WeightsFile Result() const;

 private:
  WeightsFile first_;
  int files_ = 0;
  std::vector<std::vector<double>> sums_;  // of each blob, layer by layer
};

// Writes the blobs of a file of weights atomically, under another path. Throws FileError.
void WriteLayers(const std::string& path, bool hdf5, const WeightsFile& file);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_EXPORT_WEIGHT_MEAN_H_
