#include "solvers/run_state.h"

namespace doppio {
namespace {

template <class F>
void ForSources(const Net& net, const F& f) {
  for (size_t i = 0; i < net.graph().nodes.size(); ++i) {
    const int node = static_cast<int>(i);
    Kernel* kernel = net.kernel(node);
    if (kernel != nullptr && kernel->position() >= 0) f(node, kernel);
  }
}

// Of one batch of a source.
int64_t Rows(const Net& net, int node) {
  const int top = net.graph().nodes[static_cast<size_t>(node)].tops[0];
  return net.graph().edges[static_cast<size_t>(top)].shape.dim_or_1(0);
}

void AddPosition(const std::string& layer, int64_t next_sample, RunState* state) {
  RunState::DataPosition* position = state->add_data();
  position->set_layer(layer);
  position->set_next_sample(next_sample);
}

// -1 when the state has none.
int64_t FindPosition(const RunState& state, const std::string& layer) {
  for (const RunState::DataPosition& position : state.data()) {
    if (position.layer() == layer) return position.next_sample();
  }
  return -1;
}

}  // namespace

void SavePositions(const std::string& prefix, Net* net, RunState* state) {
  AddPosition(prefix, static_cast<int64_t>(net->pass().step), state);
  ForSources(*net, [&](int node, Kernel* kernel) {
    AddPosition(prefix + net->graph().layer(node).name(), kernel->position(), state);
  });
}

void RestorePositions(const std::string& prefix, const RunState& state, Net* net, int64_t passes) {
  const int64_t before = FindPosition(state, prefix);
  if (before >= 0) net->pass().step = static_cast<uint64_t>(before + passes);
  ForSources(*net, [&](int node, Kernel* kernel) {
    const int64_t sample = FindPosition(state, prefix + net->graph().layer(node).name());
    if (sample >= 0) kernel->Seek(sample + passes * Rows(*net, node));
  });
}

void SeekSources(const std::string& type, Net* net, int64_t sample) {
  ForSources(*net, [&](int node, Kernel* kernel) {
    if (type.empty() || net->graph().layer(node).type() == type) kernel->Seek(sample);
  });
}

void SkipPasses(Net* net, int64_t passes) {
  net->pass().step = static_cast<uint64_t>(passes);
  const int ranks = net->pass().ranks;
  ForSources(*net, [&](int node, Kernel* kernel) { kernel->Seek(passes * ranks * Rows(*net, node)); });
}

double WaitSeconds(const Net& net) {
  double seconds = 0;
  for (size_t i = 0; i < net.graph().nodes.size(); ++i) {
    const Kernel* kernel = net.kernel(static_cast<int>(i));
    if (kernel != nullptr) seconds += kernel->wait_seconds();
  }
  return seconds;
}

}  // namespace doppio
