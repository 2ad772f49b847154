// layers.json of a run folder: the time of each layer of the train net in a few early iterations,
// and the size of its parameters and outputs.
#ifndef DOPPIO_TOOLS_TIMING_LAYER_TIMES_H_
#define DOPPIO_TOOLS_TIMING_LAYER_TIMES_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/base/timeline.h"
#include "core/net/run/net.h"

namespace doppio {

class LayerTimes {
 public:
  // `net` is used only in the constructor.
  explicit LayerTimes(const Net& net);

  // Returns the first and last iteration to time in a training from iteration `start` to `max_iter`
  // - 1: the third to fifth iteration after the start, when all libraries are initialised, or the
  // last iteration of a shorter training. If first > last, nothing is timed.
  static std::pair<int64_t, int64_t> WindowOf(int64_t start, int64_t max_iter);

  // Adds the spans of one iteration. Ignores an iteration without spans of layers.
  void Add(const std::vector<TimelineSpan>& spans);
  // Returns true if no iteration was added.
  bool empty() const { return iterations_ == 0; }

  // Returns [{"layer", "type", "forward_ms", "backward_ms", "params", "bytes"}] in the order of the
  // net. The times are medians over the iterations, each the sum of all passes of iter_size. As in
  // the command `time`, reorders and gradient sums count for the layer that needs them, and a chain
  // of layers counts for its first layer. "params" is the number of parameter values that the layer
  // owns; "bytes" is the size of its tops, except for tops that share memory with a bottom.
  nlohmann::json Json() const;

 private:
  struct Layer {
    std::string name, type;
    int64_t params = 0, bytes = 0;
    std::vector<double> forward_ns, backward_ns;  // one entry per iteration
  };
  std::vector<Layer> layers_;
  int iterations_ = 0;
};

// Reads `folder`/layers.json and returns its valid entries with all keys. Returns [] if the file is
// missing or damaged, because a report can do without it.
nlohmann::json ReadLayerTimes(const std::string& folder);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TIMING_LAYER_TIMES_H_
