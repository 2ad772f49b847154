// The devices on which --place and the field `device` place the layers of a net.
#ifndef DOPPIO_TOOLS_NETS_PLACEMENT_H_
#define DOPPIO_TOOLS_NETS_PLACEMENT_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "core/net/run/net.h"
#include "core/net/spec/solver_spec.h"
#include "tools/cli/options.h"

namespace doppio {

// The open devices of a placed net. Empty if one device computes the whole net.
struct PlacedDevices {
  std::vector<std::unique_ptr<Device>> owned;
  std::map<std::string, Device*> by_name;  // for PlanOptions::places
};

// Checks that the features of a training, those of the solver and those that are `asked` for
// otherwise, work together (core/net/contract/combinations.h), and throws all refusals at once.
// Returns the train net's graph if layers may be placed; its data may be missing. Throws the
// mistakes in that net.
std::optional<Graph> CheckTraining(Features asked, const NetOptions& net, const SolverSpec& solver);

// Opens the devices of `graph`. Each of its CPU devices gets an equal share of the compute threads.
// With `reserve`, opens devices that only reserve memory instead of those of the CPU. Throws
// UsageError if the features that are `asked` for do not work with placement, and DeviceError if a
// GPU cannot be used.
PlacedDevices OpenPlaces(const DeviceOptions& options, Features asked, const Graph& graph,
                         bool reserve = false);

// If the devices are GPUs, moves the first one to `*device`, which a training uses for all that is
// not a layer, and returns true.
bool TakeGpu(PlacedDevices* placed, std::unique_ptr<Device>* device);

// Returns the names of the devices that compute the layers of a place of a net on several devices,
// such as "cpu:0 (1 threads) + cpu:1 (1 threads)".
std::string PlaceText(const Net& net, int place);

// Returns "layers on cpu:0 (1 threads) with 5 layers and cpu:1 (1 threads) with 4 layers, 3 stages,
// 4 micro-batches of 16; 1.2 MiB move between devices in forward, 1.1 MiB in backward" and, if
// several devices compute a layer, the bytes of its parameters and gradients that they exchange in
// a pass. Returns "" if one device computes the whole net.
std::string PlacementText(const Net& net);

// Returns PlacementText and, with `details`, the device of each layer and each move between devices
// with its bytes.
std::vector<std::string> PlacementLines(const Net& net, bool details);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_NETS_PLACEMENT_H_
