// A net for inference with its weights, as commands that convert or compare it need it.
#ifndef DOPPIO_TOOLS_EXPORT_LOADED_NET_H_
#define DOPPIO_TOOLS_EXPORT_LOADED_NET_H_

#include <memory>
#include <string>
#include <vector>

#include "core/net/graph/graph.h"
#include "core/net/spec/solver_spec.h"
#include "core/net/store/params.h"
#include "core/net/store/weights.h"

namespace doppio {

// Returns the layers of a net. If `options.batch` is 0, the batch size is that of the Input layers,
// or 1 if there are none: the batch size of a data layer only says how many samples it reads at
// once in training and tests.
NetSpec SpecForUse(const NetSource& source, NetOptions options);

// A net with its weights as single precision values in host memory.
class LoadedNet {
 public:
  // Reads the weights from files of any format that ReadWeightsFor reads; a later file takes
  // precedence. Throws FileError, and UserError for layers without values in any file.
  LoadedNet(Graph graph, const std::vector<std::string>& weight_files);
  LoadedNet(Graph graph, const WeightsFile& weights);

  // Includes the preprocessing stored with the weights.
  const Graph& graph() const { return graph_; }
  const WeightTensors& weights() const { return weights_; }
  ParamStore* params() { return &params_; }

 private:
  explicit LoadedNet(Graph graph);
  void Add(const WeightsFile& file);
  void RefuseMissing() const;

  Graph graph_;
  const std::unique_ptr<Device> device_;
  ParamStore params_;
  const std::vector<int> param_index_;
  std::vector<std::string> missing_;  // layers without values so far
  bool first_ = true;
  WeightTensors weights_;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_EXPORT_LOADED_NET_H_
