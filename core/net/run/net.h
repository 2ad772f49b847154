// A net that can run: executes the plan's steps in memory that is placed once. Forward and Backward
// allocate nothing. Errors carry the layer's name and place. If a layer's forward changes the
// shapes of its tops (core/net/contract/changing_tops.h), graph(), plan(), outputs() and all
// tensors change, and references to the old ones are invalid. The plans of the last
// ShapePlans::kMost shapes are kept; they use the same memory. Not thread-safe.
#ifndef DOPPIO_CORE_NET_RUN_NET_H_
#define DOPPIO_CORE_NET_RUN_NET_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/net/contract/gradient_sink.h"
#include "core/net/graph/graph.h"
#include "core/net/run/plan_passes.h"
#include "core/net/store/params.h"

namespace doppio {

class StagedPasses;  // core/net/run/staged_passes.h

// A graph, its parameters, and the passes of all its micro-batches.
class Net {
 public:
  // Plans the graph and allocates all memory. `params` must outlive the net. A net with
  // options.backward adds memory for gradients to it.
  Net(Graph graph, const PlanOptions& options, ParamStore* params);
  ~Net();

  // Runs all layers and returns the weighted sum of the losses.
  double Forward() {
    StartForward();
    return Loss();
  }
  // Makes each data source prepare the batch of the next forward (Kernel::Stage), if possible while
  // the device computes. Optional.
  void StageNext();
  // The two halves of Forward. If Backward runs between them, the device does not wait until the
  // host has read the loss.
  void StartForward();
  double Loss();
  // Computes the gradients of the last Forward. Adds parameter gradients to the existing ones if
  // `accumulate` is true, else replaces them. If `sink` is not null, calls sink->Ready for
  // each gradient when it is complete.
  void Backward(bool accumulate, GradientSink* sink = nullptr);

  // Makes backward compute the gradients of `scale` times the loss; all gradients grow by that
  // factor. Must not be called between the passes of one iteration. Does not change what Forward
  // returns.
  void SetLossScale(float scale);

  const Graph& graph() const { return graph_; }
  // Sets the record that WriteWeights saves, in place of what the net does with its own images.
  void set_preprocessing(const std::optional<Preprocessing>& preprocessing) {
    graph_.preprocessing = preprocessing;
  }
  const Plan& plan() const { return *passes_.running().plan; }
  ParamStore& params() const { return *params_; }

  const std::vector<NetOutput>& outputs() const { return passes_.running().outputs; }
  // Return the last version of a blob, or its gradient. The tensor is absent if the net has no such
  // blob or does not keep its memory (see PlanOptions::keep_all).
  Tensor Blob(const std::string& name) const;
  Tensor BlobGradient(const std::string& name) const;

  // Returns the passes of this net alone, without other micro-batches, to run single steps, to
  // trace them, or to see what is recorded.
  PlanPasses& passes() { return passes_; }
  // The state of the next pass: `step` counts the forward passes so far.
  Pass& pass() { return passes_.pass(); }
  const Pass& pass() const { return passes_.pass(); }

  // Returns the nets of the micro-batches of a batch. This net is that of the first one, and often
  // of the only one. The others run, and read their data, whenever this net does.
  const std::vector<Net*>& microbatches() const { return microbatches_; }
  // Returns the rows of the whole batch of a pass.
  int64_t batch() const { return static_cast<int64_t>(microbatches_.size()) * BatchOf(graph_); }

 private:
  Graph graph_;
  ParamStore* params_;
  PlanPasses passes_;
  // Null if one device computes all layers, and for micro-batches other than the first.
  std::unique_ptr<StagedPasses> staged_;
  std::vector<Net*> microbatches_;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_RUN_NET_H_
