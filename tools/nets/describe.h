// Describes a training before it starts. `train` and --dry_run print these texts.
#ifndef DOPPIO_TOOLS_NETS_DESCRIBE_H_
#define DOPPIO_TOOLS_NETS_DESCRIBE_H_

#include <ostream>
#include <string>
#include <vector>

#include "solvers/trainer/trainer.h"

namespace doppio {

// Returns a few lines about the nets, parameters, batch, device, memory and number of iterations.
// `ranks` is the number of ranks that train together. `free` is the number of bytes that were free
// on the device before the net was planned, or -1 if unknown. Of more than three notes of the plan
// only the first and their number are shown, unless `all_notes` is true.
std::vector<std::string> DescribeTraining(Trainer* trainer, int ranks, int64_t free,
                                          bool all_notes = false);

// Returns a table, one string per line, of what the memory of a training is used for. `test_bytes`
// is the memory of all test nets, `rule` what the history belongs to (HistoryText), and `free` as
// in DescribeTraining. All sizes are in bytes.
std::vector<std::string> DescribeMemory(const MemoryUse& train, int64_t test_bytes,
                                        const std::string& rule, const Device& device,
                                        int64_t free);

// Returns lines about the effect of --recompute and --offload; empty if neither is used.
std::vector<std::string> DescribeSaving(const Net& net);

// Returns what computes the layer of this node: the engine of its kernel, "with NAME" if the kernel
// of layer NAME computes it (a chain), or "view" if there is nothing to compute.
std::string KernelName(const Net& net, size_t node);

// Prints a table of all layers with their kernels, the reasons why other kernels do not compute
// them, and the choices that the kernels have made among several ways.
void PrintKernels(const Net& net, std::ostream& out);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_NETS_DESCRIBE_H_
