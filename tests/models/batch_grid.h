// Plans train nets beside their test nets, for many batches and numbers of threads. A plan needs no
// data and no memory: sources are synthetic, and memory is only reserved, as for `train --dry_run`.
#ifndef DOPPIO_TESTS_MODELS_BATCH_GRID_H_
#define DOPPIO_TESTS_MODELS_BATCH_GRID_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "core/base/threads.h"
#include "core/net/plan/plan.h"
#include "core/net/spec/solver_spec.h"
#include "tools/nets/reserved_device.h"

namespace doppio {

// One point of the grid. A batch of 0 is that in the file.
struct GridPoint {
  int threads = 1;
  int64_t batch = 0, test_batch = 0;
};

// A net with its phases.
class GridNet {
 public:
  // Throws the mistakes in the file.
  explicit GridNet(const std::string& path)
      : path_(path), train_(LoadNet(path, {}, TRAIN)), test_(LoadNet(path, {}, TEST)) {
    const Graph graph = GraphOf(train_, 0);
    for (const Node& node : graph.nodes) {
      const bool loss = std::any_of(node.tops.begin(), node.tops.end(), [&](int top) {
        return graph.edges[static_cast<size_t>(top)].loss_weight != 0;
      });
      learns_ = learns_ || loss;
      layers_ += !loss && !node.bottoms.empty();
    }
  }

  const std::string& path() const { return path_; }
  // Returns true if the train net has a loss.
  bool learns() const { return learns_; }
  // Returns the number of layers between the data and the losses.
  int layers() const { return layers_; }

  // Returns why the test net cannot be planned beside the train net, or "" if it can, or if one of
  // the nets cannot be planned alone.
  std::string Refusal(const GridPoint& point) {
    const ThreadCount threads(point.threads);
    const std::unique_ptr<Device> device = MakeReservedDevice();
    ParamStore store(device.get(), DType::kFloat32, 1), alone(device.get(), DType::kFloat32, 1);
    if (!WhyNot(train_, point.batch, &store).empty()) return "";
    const std::string why = WhyNot(test_, point.test_batch, &store);
    if (why.empty()) ++planned_;
    return why.empty() || !WhyNot(test_, point.test_batch, &alone).empty() ? "" : why;
  }
  // Returns the number of points at which both nets were planned.
  int64_t planned() const { return planned_; }

 private:
  static Graph GraphOf(const NetSource& source, int64_t batch) {
    NetOptions options;
    options.phase = source.state.phase();
    options.data = DataMode::kAssume;
    options.usual_sample = Shape{1, 28, 28};
    options.batch = batch;
    Graph graph = MakeGraph(MakeNetSpec(source.net, source.places, source.state, options));
    for (LayerSpec& layer : graph.spec.layers) layer.options.data = DataMode::kSynthetic;
    return graph;
  }

  // Plans a net over the parameters in `store`. Returns the mistake, or "".
  static std::string WhyNot(const NetSource& source, int64_t batch, ParamStore* store) {
    try {
      const Graph graph = GraphOf(source, batch);
      PlanOptions options;
      options.device = store->device();
      options.backward = source.state.phase() == TRAIN;
      options.runs = options.accumulate = false;
      options.gradients_consumed = options.backward;
      MakePlan(graph, options, store);
      return "";
    } catch (const std::exception& e) {
      return e.what();
    }
  }

  std::string path_;
  NetSource train_, test_;
  bool learns_ = false;
  int layers_ = 0;
  int64_t planned_ = 0;
};

inline std::string ToText(const GridPoint& point) {
  return std::to_string(point.threads) + " threads, batch " + std::to_string(point.batch) +
         ", test batch " + std::to_string(point.test_batch);
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_MODELS_BATCH_GRID_H_
