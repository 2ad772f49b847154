// layers.json of a run folder: how long each layer of the train net took in an early iteration, and
// what it holds.
#ifndef DOPPIO_TOOLS_TRAIN_LAYER_TIMES_H_
#define DOPPIO_TOOLS_TRAIN_LAYER_TIMES_H_

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
  explicit LayerTimes(const Net& net);

  // Which iterations, first and last, of a training from `start` up to before `max_iter` are timed:
  // the third to the fifth after the start, when libraries have set themselves up, or the last of a
  // shorter training; first > last: none.
  static std::pair<int64_t, int64_t> WindowOf(int64_t start, int64_t max_iter);

  // All that one iteration has shown. One that has not come to its layers does not count.
  void Add(const std::vector<TimelineSpan>& spans);
  bool empty() const { return iterations_ == 0; }

  // [{"layer", "type", "forward_ms", "backward_ms", "params", "bytes"}] in the order of the net.
  // The times are medians over iterations, each with all passes of iter_size, and count for a layer
  // as those of `time` do: reorders and sums of gradients for the layer they are made for, layers
  // computed together for the first of them. `params` are values that the layer owns, `bytes` its
  // outputs but for those in the memory of its inputs.
  nlohmann::json Json() const;

 private:
  struct Layer {
    std::string name, type;
    int64_t params = 0, bytes = 0;
    std::vector<double> forward_ns, backward_ns;  // of each iteration
  };
  std::vector<Layer> layers_;
  int iterations_ = 0;
};

// The layers that `folder`/layers.json tells of, with all keys; [] where there is none, or it is
// damaged: it only says more.
nlohmann::json ReadLayerTimes(const std::string& folder);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_LAYER_TIMES_H_
