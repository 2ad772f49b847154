#include "solvers/trainer/trainer_state.h"

#include "core/base/error.h"
#include "proto/net.pb.h"

namespace doppio {
namespace {

void ShareText(Communicator* ranks, int root, std::string* text) {
  int64_t bytes = static_cast<int64_t>(text->size());
  ranks->Broadcast(&bytes, sizeof bytes, root);
  text->resize(bytes);
  ranks->Broadcast(text->data(), bytes, root);
}

template <class Message>
void ShareMessage(Communicator* ranks, int root, Message* message) {
  std::string text;
  if (ranks->rank() == root) text = message->SerializeAsString();
  ShareText(ranks, root, &text);
  DOPPIO_CHECK(message->ParseFromString(text), "a state from another rank");
}

void AddShape(const PlainBlob& blob, BlobProto* to) {
  for (const int64_t dim : blob.shape.dims()) to->mutable_shape()->add_dim(dim);
}

PlainBlob WithShapeOf(const BlobProto& blob) {
  const auto& dims = blob.shape().dim();
  PlainBlob plain{Shape(std::vector<int64_t>(dims.begin(), dims.end())), {}};
  plain.data.resize(plain.shape.count());
  return plain;
}

// The state without arrays. iter is in run_state, because that of SolverState has 32 bits.
SolverState HeadOf(const SolverSnapshot& solver) {
  SolverState head;
  head.set_current_step(static_cast<int32_t>(solver.current_step));
  head.set_minimum_loss(solver.minimum_loss);
  head.set_iter_last_event(static_cast<int32_t>(solver.iter_last_event));
  *head.mutable_run_state() = solver.run_state;
  head.mutable_run_state()->set_iter(solver.iter);
  for (const PlainBlob& blob : solver.history) AddShape(blob, head.add_history());
  return head;
}

void SetHead(const SolverState& head, SolverSnapshot* solver) {
  solver->iter = head.run_state().iter();
  solver->current_step = head.current_step();
  solver->minimum_loss = head.minimum_loss();
  solver->iter_last_event = head.iter_last_event();
  solver->run_state = head.run_state();
}

NetParameter ShapesOf(const std::vector<LayerBlobs>& weights) {
  NetParameter net;
  for (const LayerBlobs& layer : weights) {
    LayerParameter* to = net.add_layer();
    to->set_name(layer.name);
    to->set_type(layer.type);
    for (const PlainBlob& blob : layer.blobs) AddShape(blob, to->add_blobs());
  }
  return net;
}

void ShareBlobs(Communicator* ranks, int root, std::vector<PlainBlob>* blobs) {
  for (PlainBlob& blob : *blobs) {
    const auto bytes = static_cast<int64_t>(blob.data.size() * sizeof(float));
    ranks->Broadcast(blob.data.data(), bytes, root);
  }
}

}  // namespace

void ShareState(Communicator* ranks, int root, bool arrays, TrainerState* state) {
  ShareText(ranks, root, &state->last_snapshot);
  ranks->Broadcast(&state->tested, sizeof state->tested, root);
  SolverState head = HeadOf(state->solver);
  ShareMessage(ranks, root, &head);
  SetHead(head, &state->solver);
  if (!arrays) return;
  NetParameter shapes = ShapesOf(state->weights);
  ShareMessage(ranks, root, &shapes);
  if (ranks->rank() != root) {
    state->solver.history.clear();
    for (const BlobProto& blob : head.history()) state->solver.history.push_back(WithShapeOf(blob));
    state->weights.clear();
    for (const LayerParameter& layer : shapes.layer()) {
      state->weights.push_back({layer.name(), layer.type(), {}});
      for (const BlobProto& blob : layer.blobs())
        state->weights.back().blobs.push_back(WithShapeOf(blob));
    }
  }
  ShareBlobs(ranks, root, &state->solver.history);
  for (LayerBlobs& layer : state->weights) ShareBlobs(ranks, root, &layer.blobs);
}

}  // namespace doppio
