#include "python/live_net.h"

#include <utility>

#include "core/net/contract/plain_blob.h"
#include "core/net/contract/sample_source.h"
#include "core/net/run/layer_range.h"
#include "python/graph_names.h"
#include "python/net_params.h"

namespace doppio {
namespace py = pybind11;
namespace {

// Copies the values of inputs that keep their shape, and the position in the data.
void CarryOver(const Net& before, Net* now) {
  Device* const device = now->params().device();
  for (const std::string& name : InputNames(before.graph())) {
    const Tensor from = before.Blob(name), to = now->Blob(name);
    if (from.shape == to.shape) WriteTensor(ReadTensor(from, device).data, to, device);
  }
  for (size_t n = 0; n < before.graph().nodes.size(); ++n) {
    const int node = static_cast<int>(n);
    if (const SampleSource* source = SourceOf(before.plan().kernel(node)))
      Capability<SampleSource>(now->plan().kernel(node))->Seek(source->position());
  }
  now->pass() = before.pass();
  now->set_preprocessing(before.graph().preprocessing);
}

}  // namespace

LiveNet::LiveNet(NetRecipe recipe)
    : recipe_(std::make_unique<NetRecipe>(std::move(recipe))), shown_(std::make_shared<Views>()) {
  shown_.Use(recipe_->Make({}), recipe_->params(), shown_.views());
}

void LiveNet::Attach(std::shared_ptr<Net> net) {
  samples_.GiveTo(*net);
  const std::shared_ptr<ParamStore> params(net, &net->params());
  shown_.Use(std::move(net), params, shown_.views());
}

void LiveNet::Forward(int first, int last) {
  const std::lock_guard<std::recursive_mutex> turn(shown_.turn());
  Reshape();
  shown_.InTurn([&](Net& net) {
    LayerRange(first, last, &net).Forward();
    net.params().device()->Synchronize();
  });
}

void LiveNet::Backward(int first, int last) {
  if (net().plan().backward.empty()) {
    throw UsageError("net '", graph().spec.name,
                     "' computes no gradients, because it has no loss that depends on a learned ",
                     "parameter; to compute gradients from its outputs, set force_backward: true ",
                     "in its file");
  }
  shown_.InTurn([&](Net& net) {
    LayerRange(first, last, &net).Backward();
    net.params().device()->Synchronize();
  });
}

void LiveNet::RequestShape(const std::string& blob, const Shape& shape) {
  if (recipe_ == nullptr)
    throw UsageError("blob '", blob, "' belongs to a solver's net, whose shapes are fixed");
  inputs_.Request(graph(), blob, shape);
}

void LiveNet::Reshape() {
  const std::lock_guard<std::recursive_mutex> turn(shown_.turn());
  InputShapes::Requests requests;
  {
    const py::gil_scoped_acquire gil;
    requests = inputs_.requests();
  }
  if (requests.empty()) return;
  shown_.InTurn([&](const Net& net) {
    ContinueWith(recipe_->Make(inputs_.ShapesWith(requests), &net), shown_.params(), shown_.views(),
                 requests);
  });
}

// Switches to `next`, with the inputs' values and the position in the data of the current net.
void LiveNet::ContinueWith(const std::shared_ptr<Net>& next,
                           const std::shared_ptr<ParamStore>& params,
                           const std::shared_ptr<Views>& views,
                           const InputShapes::Requests& requests) {
  CarryOver(net(), next.get());
  for (const auto& [blob, input] : requests)
    WriteTensor(*input.values, next->Blob(blob), params->device());
  samples_.GiveTo(*next);
  const std::shared_ptr<Net> before = shown_.owner();  // released after the GIL
  const py::gil_scoped_acquire gil;
  shown_.Use(next, params, views);
  inputs_.Fulfil(requests);
}

void LiveNet::ShareWith(LiveNet* other) {
  if (&net().params() == &other->net().params()) return;
  Reshape();
  const std::shared_ptr<Views> own = shown_.views();  // must outlive its lock
  const std::shared_ptr<Views> views = other->shown_.views();
  const std::scoped_lock turns(own->turn(), views->turn());
  if (recipe_ == nullptr) {
    throw UsageError("net '", graph().spec.name,
                     "' belongs to a solver and keeps the solver's parameters; call share_with of "
                     "the other net, or load a file with copy_from");
  }
  const NetParams params(&net());
  params.CheckCanUse(other->net());
  own->Push();
  views->Push();
  const std::shared_ptr<ParamStore> theirs = other->shown_.params();
  const int before = static_cast<int>(theirs->params().size());
  NetRecipe shared = *recipe_;
  shared.Share(theirs);
  const std::shared_ptr<Net> next = shared.Make(inputs_.shapes(), &net());
  params.CopyTo(*next, before);
  // With its own views, each net would overwrite the copies of the other.
  ContinueWith(next, theirs, views, {});
  *recipe_ = std::move(shared);
  views->Pull();
}

}  // namespace doppio
