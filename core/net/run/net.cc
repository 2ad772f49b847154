#include "core/net/run/net.h"

#include <utility>

#include "core/net/run/staged_passes.h"

namespace doppio {

Net::Net(Graph graph, const PlanOptions& options, ParamStore* params)
    : graph_(std::move(graph)),
      params_(params),
      passes_(&graph_, options, params),
      microbatches_({this}) {
  const bool placed = plan().devices.size() > 1;
  DOPPIO_CHECK(placed || graph_.spec.options.microbatches == 1,
               "micro-batches pass through several devices");
  if (!placed || options.microbatch != 0) return;
  staged_ = std::make_unique<StagedPasses>(this);
  for (const auto& other : staged_->others()) microbatches_.push_back(other.get());
}

Net::~Net() = default;

void Net::StartForward() {
  if (staged_ != nullptr) return staged_->Forward();
  passes_.Forward();
}

double Net::Loss() { return staged_ == nullptr ? passes_.running().losses.Sum() : staged_->Loss(); }

void Net::Backward(bool accumulate, GradientSink* sink) {
  if (staged_ != nullptr) return staged_->Backward(accumulate, sink);
  passes_.Backward(accumulate, sink);
}

void Net::StageNext() {
  for (size_t i = 1; i < microbatches_.size(); ++i) microbatches_[i]->StageNext();
  passes_.steps().StageSources();
}

void Net::SetLossScale(float scale) {
  for (Net* part : microbatches_) part->passes_.steps().SetLossScale(scale);
}

Tensor Net::Blob(const std::string& name) const {
  const int edge = graph_.FindEdge(name);
  return edge < 0 ? Tensor() : plan().values[edge];
}

Tensor Net::BlobGradient(const std::string& name) const {
  const int edge = graph_.FindEdge(name);
  return edge < 0 ? Tensor() : plan().grads[edge];
}

}  // namespace doppio
