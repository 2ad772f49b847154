// A training in progress, as all parts of a trainer see it: what it trains, and how far it is. Each
// part owns the rest of its state.
#ifndef DOPPIO_SOLVERS_TRAINER_TRAINING_RUN_H_
#define DOPPIO_SOLVERS_TRAINER_TRAINING_RUN_H_

#include <cstdint>

#include "core/net/spec/solver_spec.h"
#include "solvers/trainer/schedule.h"
#include "solvers/trainer/trainer_options.h"

namespace doppio {

struct TrainingRun {
  SolverSpec spec;
  TrainerOptions options;
  uint64_t seed = 0;
  // Identifies the run that a snapshot belongs to, so that a resume does not pick up snapshots that
  // an earlier run left under the same names. A resumed run keeps the id.
  uint64_t run_id = 0;
  Schedule schedule;
  int64_t batch = 0;  // rows per batch of this rank's train net; 0 if the net has no data top

  int64_t iteration = 0;        // updates done
  int64_t first_iteration = 0;  // updates done at the start of this Solve or Advance
  int64_t samples_seen = 0;     // in all updates, over all ranks
  // Records whether the weights and the data positions agree with `iteration`.
  enum class Stage {
    kWhole,   // weights and data positions agree
    kPass,    // only the weights agree; see Passes::GoBack
    kUpdate,  // neither agrees
  };
  Stage stage = Stage::kWhole;
  bool stop = false;   // no further iteration begins
  TrainResult result;  // of this Solve; each part sets the fields of its concern

  int rank() const { return options.world == nullptr ? 0 : options.world->rank(); }
  int ranks() const { return options.world == nullptr ? 1 : options.world->size(); }
  // Returns true if the ranks divide the update.
  bool shards() const { return options.shard_update && options.world != nullptr; }
  // Returns the number of parts of each rank's batch, each with its own mean loss and gradients.
  int microbatches() const { return options.net.microbatches; }
  int64_t SamplesPerIteration() const { return batch * ranks() * spec.param.iter_size(); }
  // Returns true if the log shows the current iteration.
  bool Displays() const {
    return spec.param.display() > 0 && iteration % spec.param.display() == 0;
  }
};

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_TRAINING_RUN_H_
