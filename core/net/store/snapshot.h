// Snapshots: PREFIX_iter_N.caffemodel[.h5] with the weights and PREFIX_iter_N.solverstate[.h5] with
// all else that a run needs to go on, readable by BVLC Caffe. The state is renamed last and carries
// size and checksum of the weights, and a checksum of its own: a snapshot is whole or it does not
// count, whenever the process dies.
#ifndef DOPPIO_CORE_NET_STORE_SNAPSHOT_H_
#define DOPPIO_CORE_NET_STORE_SNAPSHOT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/net/graph/graph.h"
#include "core/net/store/params.h"
#include "core/net/store/plain_blob.h"
#include "core/net/store/weights.h"
#include "proto/solver.pb.h"

namespace doppio {

struct SolverSnapshot {
  int64_t iter = 0;
  int64_t current_step = 0;
  std::string learned_net;         // path of the weights
  std::vector<PlainBlob> history;  // in Caffe's order
  RunState run_state;              // has_iter() is false when another Caffe wrote the file
  // What "plateau" remembers.
  float minimum_loss = 1e38f;
  int64_t iter_last_event = 0;
};

struct SnapshotNames {
  std::string model, state;
};
SnapshotNames NamesOfSnapshot(const std::string& prefix, int64_t iter, bool hdf5);

// FileError unless files with this prefix can be made; for the start of a run.
void CheckWritable(const std::string& prefix);
// Removes the temporary files that killed writers have left beside the snapshots.
void RemoveLeftovers(const std::string& prefix);

// All that goes into the two files.
struct SnapshotContents {
  SnapshotNames names;  // HDF5 where they end with ".h5"
  const Graph* graph = nullptr;
  WeightTensors weights;
  std::vector<Tensor> history;  // where the weights are, in Caffe's order
  SolverSnapshot solver;  // learned_net, history and what ties run_state to the weights are filled
                          // in on the way
};
// Both files, or none: each is complete under another name before the first gets its own. Throws
// FileError.
void WriteSnapshot(const SnapshotContents& contents);
// The same of parameters in host memory, with snapshot.history as the history. `gradients` as in
// WriteWeights.
void WriteSnapshot(const SnapshotNames& names, const Graph& graph,
                   const std::vector<int>& param_index, const ParamStore& params,
                   SolverSnapshot snapshot, bool gradients = false);

// learned_net is the path of a file that exists: as written, or the file of that name beside the
// state. FileError when the state is damaged or its weights are missing or were changed since.
SolverSnapshot ReadSnapshot(const std::string& path);

// The state with the highest iteration that ReadSnapshot accepts; those passed over are logged.
// `run_id`, if given: of snapshots of that run alone.
std::optional<std::string> NewestWholeSnapshot(const std::string& prefix,
                                               std::optional<uint64_t> run_id = std::nullopt);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_STORE_SNAPSHOT_H_
