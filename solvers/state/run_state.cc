#include "solvers/state/run_state.h"

#include <algorithm>

#include "core/base/checked_product.h"
#include "core/base/log.h"
#include "core/net/contract/carried_state.h"
#include "core/net/contract/sample_source.h"
#include "core/net/run/join_sources.h"
#include "solvers/state/saved_positions.h"

namespace doppio {
namespace {

template <class F>
void ForKernels(const Net& net, const F& f) {
  const int nodes = static_cast<int>(net.graph().nodes.size());
  for (int node = 0; node < nodes; ++node) {
    if (Kernel* kernel = net.plan().kernel(node)) f(node, kernel);
  }
}

template <class F>
void ForSources(const Net& net, const F& f) {
  ForKernels(net, [&](int node, Kernel* kernel) {
    if (SampleSource* source = SourceOf(kernel)) f(node, source);
  });
}

int64_t Rows(const Net& net, int node) { return SampleRows(net.graph(), node); }

template <class F>
void ForCarrying(const Net& net, const F& f) {
  ForKernels(net, [&](int node, Kernel* kernel) {
    CarriesState* carrying = StateOf(kernel);
    if (carrying != nullptr && !carrying->State().empty())
      f(net.graph().layer(node).name(), carrying);
  });
}

bool SameShapes(const std::vector<PlainBlob>& a, const std::vector<PlainBlob>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const PlainBlob& x, const PlainBlob& y) { return x.shape == y.shape; });
}

// Returns the saved state of a layer on `rank`. Returns an empty list if there is none or if its
// data does not match its shape.
std::vector<PlainBlob> FindCarried(const RunState& state, const std::string& layer, int rank) {
  std::vector<PlainBlob> blobs;
  for (const RunState::LayerState& saved : state.layer()) {
    if (saved.layer() != layer || saved.replica() != rank) continue;
    for (const BlobProto& from : saved.blobs()) {
      const auto& dims = from.shape().dim();
      blobs.push_back({Shape(std::vector<int64_t>(dims.begin(), dims.end())),
                       {from.data().begin(), from.data().end()}});
      if (CheckedProduct(dims) != from.data_size()) return {};
    }
  }
  return blobs;
}

}  // namespace

void SaveNetState(const std::string& prefix, const Net& net, RunState* state) {
  RunState::DataPosition* const passes = state->add_data();
  passes->set_layer(prefix);
  passes->set_next_sample(static_cast<int64_t>(net.pass().step));
  SavePositions(prefix, net, state);
  ForCarrying(net, [&](const std::string& layer, const CarriesState* carrying) {
    RunState::LayerState* saved = state->add_layer();
    saved->set_layer(prefix + layer);
    saved->set_replica(net.pass().rank);
    for (const PlainBlob& blob : carrying->State()) {
      BlobProto* to = saved->add_blobs();
      for (int64_t dim : blob.shape.dims()) to->mutable_shape()->add_dim(dim);
      to->mutable_data()->Add(blob.data.begin(), blob.data.end());
    }
  });
}

void RestorePositions(const std::string& prefix, const RunState& state, Net* net, int64_t passes) {
  for (const RunState::DataPosition& position : state.data()) {
    if (position.layer() != prefix) continue;
    net->pass().step = static_cast<uint64_t>(position.next_sample() + passes);
  }
  const SavedPositions saved = Together(*net, FindPositions(prefix, state, *net));
  ForSources(*net, [&](int node, SampleSource* source) {
    const RunState::DataPosition* const position = saved.at(node);
    if (position != nullptr) source->Seek(position->next_sample() + passes * Rows(*net, node));
  });
}

void WarnIfDataChanged(const std::string& prefix, const RunState& state, const Net& net) {
  const SavedPositions positions = FindPositions(prefix, state, net);
  WarnIfGroupsChanged(net, positions);
  ForSources(net, [&](int node, SampleSource* source) {
    const std::string& layer = net.graph().layer(node).name();
    const RunState::DataPosition* const saved = positions.at(node);
    // 0: endless, or a program has not given its samples yet.
    const int64_t now = source->source_size(), then = saved == nullptr ? 0 : saved->records();
    if (now == 0 || then == 0 || now == then) return;
    LOG(WARNING) << "the data of layer '" << layer << "' have " << now << " records, but had "
                 << then << " when the snapshot was written: the resumed run continues at sample "
                 << saved->next_sample() << " of other data";
  });
}

void GetPosition(const Net& net, NetPosition* position) {
  position->step = net.pass().step;
  position->samples.clear();
  ForSources(net,
             [&](int, SampleSource* source) { position->samples.push_back(source->position()); });
}

void SetPosition(const NetPosition& position, Net* net) {
  net->pass().step = position.step;
  auto sample = position.samples.begin();
  ForSources(*net, [&](int, SampleSource* source) { source->Seek(*sample++); });
  ResetCarriedState(*net);
}

void SeekSources(Net* net, int64_t sample) {
  ForSources(*net, [&](int, SampleSource* source) { source->Seek(sample); });
}

void SkipPasses(Net* net, int64_t passes) {
  net->pass().step = static_cast<uint64_t>(passes);
  const int ranks = net->pass().ranks;
  ForSources(*net, [&](int node, SampleSource* source) {
    source->Seek(passes * ranks * Rows(*net, node));
  });
}

void RewindOnePass(Net* net) {
  for (Net* part : net->microbatches()) {
    --part->pass().step;
    const int ranks = part->pass().ranks;
    ForSources(*part, [&](int node, SampleSource* source) {
      source->Seek(source->position() - ranks * Rows(*part, node));
    });
  }
}

void GatherCarriedState(Communicator* ranks, RunState* state) {
  const RunState own = *state;
  state->clear_layer();
  for (int rank = 0; rank < ranks->size(); ++rank) {
    for (const RunState::LayerState& mine : own.layer()) {
      RunState::LayerState* its = state->add_layer();
      *its = mine;
      its->set_replica(rank);
      for (BlobProto& blob : *its->mutable_blobs()) {
        auto* data = blob.mutable_data();
        ranks->Broadcast(data->mutable_data(), data->size() * static_cast<int64_t>(sizeof(float)),
                         rank);
      }
    }
  }
}

void RestoreCarriedState(const std::string& prefix, const RunState& state, const Net& net) {
  const int rank = net.pass().rank;
  ForCarrying(net, [&](const std::string& layer, CarriesState* carrying) {
    const std::vector<PlainBlob> saved = FindCarried(state, prefix + layer, rank);
    if (SameShapes(saved, carrying->State())) return carrying->SetState(saved);
    LOG(WARNING) << "layer '" << layer
                 << "' starts with a zero state: the snapshot has no state of rank " << rank
                 << " that fits it";
    ResetState(carrying);
  });
}

bool SourcesStartOver(const Net& net) {
  bool any = false, only = true;
  ForSources(net, [&](int node, SampleSource*) {
    if (!net.graph().nodes[node].bottoms.empty()) return;  // follows a source
    any = true;
    only = only && net.graph().nodes[node].type->starts_over;
  });
  return any && only;
}

void ResetCarriedState(const Net& net) {
  ForCarrying(net, [](const std::string&, CarriesState* carrying) { ResetState(carrying); });
}

void CopyCarriedState(const Net& from, const Net& to) {
  RunState state;
  SaveNetState("", from, &state);
  ForCarrying(to, [&](const std::string& layer, CarriesState* carrying) {
    const std::vector<PlainBlob> handed = FindCarried(state, layer, from.pass().rank);
    if (SameShapes(handed, carrying->State())) return carrying->SetState(handed);
    ResetState(carrying);
  });
}

int64_t BadRecordsOf(const Net& net) {
  int64_t count = 0;
  for (const Net* part : net.microbatches())
    ForSources(*part, [&](int, SampleSource* source) { count += source->bad_records(); });
  return count;
}

double WaitSeconds(const Net& net) {
  double seconds = 0;
  for (const Net* part : net.microbatches()) {
    ForKernels(*part, [&](int, Kernel* kernel) {
      if (const auto* source = Capability<SampleSource>(kernel)) seconds += source->wait_seconds();
    });
  }
  return seconds;
}

}  // namespace doppio
