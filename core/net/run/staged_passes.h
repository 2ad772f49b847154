// Runs the passes of a net whose layers are placed on several devices. Successive steps of a plan
// on one place are a task. If the batch is divided into micro-batches, each has its own net over
// the same parameters, and the devices work on different micro-batches at the same time: forward of
// all, then backward of all (Huang et al., "GPipe", 2019). If a place has several devices, they
// take its micro-batches in turn.
#ifndef DOPPIO_CORE_NET_RUN_STAGED_PASSES_H_
#define DOPPIO_CORE_NET_RUN_STAGED_PASSES_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/net/run/device_team.h"
#include "core/net/run/net.h"

namespace doppio {

// The tasks of one direction of a plan. Those of all micro-batches are alike, except that their
// plans may have other steps between the layers.
struct Tasks {
  explicit Tasks(const std::vector<PlanStep>& steps);
  // Per task: the first step, and the one behind the last.
  std::vector<std::pair<size_t, size_t>> ranges;
  std::vector<int> places;  // per task: the place of its steps
};

// The methods do what those of the same name of Net do. Not thread-safe.
class StagedPasses {
 public:
  // `first` is the net of the first micro-batch, or of the whole batch, and owns this object. Makes
  // the nets of the other micro-batches. All layers must support placement.
  explicit StagedPasses(Net* first);

  void Forward();
  // Adds the gradients of the micro-batches in their order: first those of each device of a
  // replicated layer, then those of its devices.
  void Backward(bool accumulate, GradientSink* sink);
  // Returns the mean loss of the micro-batches.
  double Loss();

  const std::vector<std::unique_ptr<Net>>& others() const { return others_; }

 private:
  // One micro-batch.
  struct Part {
    explicit Part(Net* net);
    Net* net;
    Tasks forward_tasks, backward_tasks;
    std::vector<StepRunner> forward, replace, add;  // per task
  };

  void FixShapes() const;
  void AddPart(Net* net);
  void MakeTeam();
  void Align();
  void RunTask(const Part& part, bool backward, int task, StepRunner* runner, bool accumulate);

  Net& first_;
  std::vector<std::unique_ptr<Net>> others_;
  std::vector<Part> parts_;
  // Per place: its devices, as indices of the team's.
  std::vector<std::vector<int>> place_devices_;
  TaskOrder forward_order_, backward_order_;
  std::optional<DeviceTeam> team_;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_RUN_STAGED_PASSES_H_
