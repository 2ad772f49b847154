// Snapshots: PREFIX_iter_N.caffemodel[.h5] has the weights, PREFIX_iter_N.solverstate[.h5] the rest
// of the state that a run needs to resume. BVLC Caffe can read both. The state is renamed last. It
// has the size and checksum of the weights and a checksum of its own, so a process that dies at any
// time leaves a complete snapshot or none.
#ifndef DOPPIO_CORE_NET_STORE_SNAPSHOT_H_
#define DOPPIO_CORE_NET_STORE_SNAPSHOT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/net/contract/plain_blob.h"
#include "core/net/graph/graph.h"
#include "core/net/store/weights.h"
#include "proto/solver.pb.h"

namespace doppio {

// The contents of a solver state.
struct SolverSnapshot {
  int64_t iter = 0;
  int64_t current_step = 0;
  std::string learned_net;         // path of the weights
  std::vector<PlainBlob> history;  // in Caffe's order
  RunState run_state;              // has_iter() is false if another Caffe wrote the file
  // State of the learning rate policy "plateau".
  float minimum_loss = 1e38f;
  int64_t iter_last_event = 0;
};

// The paths of the two files of a snapshot.
struct SnapshotNames {
  std::string model, state;
};
// Returns the paths for a prefix and iteration; with ".h5" at the end if `hdf5` is true.
SnapshotNames NamesOfSnapshot(const std::string& prefix, int64_t iter, bool hdf5);

// Throws FileError if files with this prefix cannot be created. Call at the start of a run.
void CheckWritable(const std::string& prefix);
// Removes the temporary files of killed writers beside the snapshots.
void RemoveLeftovers(const std::string& prefix);

// The contents of both files of a snapshot.
struct SnapshotContents {
  SnapshotNames names;  // HDF5 if the names end with ".h5"
  const Graph* graph = nullptr;
  WeightTensors weights;
  std::vector<Tensor> history;  // in Caffe's order, on the device of the weights
  // WriteSnapshot sets learned_net and, in run_state, iter, model_bytes and model_crc. It ignores
  // solver.history.
  SolverSnapshot solver;
};
// Writes both files or none: completes both under temporary names before it renames the first.
// Throws FileError.
void WriteSnapshot(const SnapshotContents& contents);

// Reads a state and finds its weights. learned_net becomes the path of an existing file: the
// recorded path, or the file of that name beside the state. Throws FileError if the state is
// damaged, or if its weights are missing or have changed since.
SolverSnapshot ReadSnapshot(const std::string& path);

// Returns the state with the highest iteration that ReadSnapshot accepts, and logs the states that
// it skips. If `run_id` is set, considers only snapshots of that run.
std::optional<std::string> NewestCompleteSnapshot(const std::string& prefix,
                                                  std::optional<uint64_t> run_id = std::nullopt);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_STORE_SNAPSHOT_H_
