#include "tools/export/loaded_net.h"

#include <algorithm>

#include "core/base/log.h"
#include "core/net/contract/layer.h"
#include "tools/cli/word_list.h"
#include "tools/export/read_arrays.h"

namespace doppio {

NetSpec SpecForUse(const NetSource& source, NetOptions options) {
  NetSpec spec = MakeNetSpec(source.net, source.places, source.state, options);
  const bool sized = std::any_of(spec.layers.begin(), spec.layers.end(),
                                 [](const LayerSpec& layer) { return TakesInput(layer.type()); });
  if (options.batch > 0 || sized) return spec;
  options.batch = 1;
  return MakeNetSpec(source.net, source.places, source.state, options);
}

LoadedNet::LoadedNet(Graph graph)
    : graph_(std::move(graph)),
      device_(MakeCpuDevice()),
      params_(device_.get(), DType::kFloat32, graph_.spec.options.seed),
      param_index_(params_.Resolve(graph_)) {
  params_.Place(false, {});
  params_.Allocate();
  weights_ = WeightsOf(param_index_, params_, false);
  weights_.device = nullptr;
}

LoadedNet::LoadedNet(Graph graph, const std::vector<std::string>& weight_files)
    : LoadedNet(std::move(graph)) {
  for (const std::string& file : weight_files) Add(ReadWeightsFor(graph_, file));
  RefuseMissing();
}

LoadedNet::LoadedNet(Graph graph, const WeightsFile& weights) : LoadedNet(std::move(graph)) {
  Add(weights);
  RefuseMissing();
}

void LoadedNet::Add(const WeightsFile& file) {
  const WeightsReport report = CopyWeights(file, graph_, param_index_, &params_);
  if (file.preprocessing) graph_.preprocessing = file.preprocessing;
  LOG(INFO) << "Weights of " << report.copied.size() << " layers read from " << file.path;
  if (first_) missing_ = report.missing;
  first_ = false;
  const auto found = [&](const std::string& layer) { return !Contains(report.missing, layer); };
  missing_.erase(std::remove_if(missing_.begin(), missing_.end(), found), missing_.end());
}

// Reports layers without values. A layer that only shares parameters of another layer needs none.
void LoadedNet::RefuseMissing() const {
  ErrorCollector mistakes;
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    const LayerSpec& layer = graph_.layer(static_cast<int>(i));
    const auto& params = graph_.nodes[i].params;
    const bool owner = std::any_of(params.begin(), params.end(), [&](int param) {
      return graph_.params[param].node == static_cast<int>(i);
    });
    if (owner && Contains(missing_, layer.name()))
      mistakes.Add(layer.Mistake("", "the files of weights have no values for it"));
  }
  mistakes.ThrowIfAny();
}

}  // namespace doppio
