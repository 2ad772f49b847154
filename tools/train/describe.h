// What is about to run, in words: said at the start of a training and by --dry_run, so that nothing
// is hidden.
#ifndef DOPPIO_TOOLS_TRAIN_DESCRIBE_H_
#define DOPPIO_TOOLS_TRAIN_DESCRIBE_H_

#include <ostream>
#include <string>
#include <vector>

#include "solvers/trainer/trainer.h"

namespace doppio {

// Nets, parameters, batch, device, memory, how long: a few lines. `ranks` train together; `free`:
// what the device had before, or -1.
std::vector<std::string> DescribeTraining(Trainer* trainer, int ranks, int64_t free);

// Where the memory of a training goes, as the lines of a table. `test_bytes`: of all test nets;
// `rule`: whose history it is.
std::vector<std::string> DescribeMemory(const MemoryUse& train, int64_t test_bytes,
                                        const std::string& rule, const Device& device,
                                        int64_t free);

// What --recompute and --offload came to; empty without them.
std::vector<std::string> DescribeSaving(const Net& net);

// What computes a layer: the engine of its kernel, "with NAME" inside a chain of that head, "view"
// for nothing at all.
std::string KernelName(const Net& net, size_t node);

// Each layer of a net with its kernel, and why faster ones were passed over.
void PrintKernels(const Net& net, std::ostream& out);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_DESCRIBE_H_
