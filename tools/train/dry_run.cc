#include "tools/train/dry_run.h"

#include <algorithm>
#include <iostream>
#include <memory>

#include "solvers/update/rule_check.h"
#include "tools/nets/describe.h"
#include "tools/nets/placement.h"
#include "tools/train/old_files.h"

namespace doppio {
namespace {

void PrintDryRun(const Flags& flags, Trainer* trainer, int ranks, int64_t free) {
  for (const std::string& line : DescribeTraining(trainer, ranks, free, true))
    std::cout << line << '\n';
  const std::string old_files = OldFilesText(OldFiles(*trainer, flags.trace, flags.no_overwrite));
  if (!old_files.empty()) std::cout << old_files << '\n';
  for (const std::string& line : PlacementLines(trainer->train_net(), flags.log_placement))
    std::cout << line << '\n';
  std::cout << '\n';
  PrintKernels(trainer->train_net(), std::cout);
  for (const auto& net : trainer->test_nets()) {
    std::cout << "\ntest net:\n";
    PrintKernels(*net, std::cout);
  }
  std::cout << "\nNothing was run (--dry_run).\n";
}

// Throws MemoryError if the nets do not fit into `free` bytes. Takes the nets in the order in which
// a training allocates them; in a dry run their memory is only reserved.
void CheckFits(Trainer* trainer, int64_t free) {
  const Device& device = *trainer->params().device();
  int64_t left = free;
  auto take = [&](const MemoryNeed& need) {
    if (free < 0) return;
    need.CheckFits(std::max<int64_t>(0, left), device);
    left -= need.now();
  };
  take(trainer->train_net().plan().memory);
  const auto& last_tests = trainer->parts().nets.last_tests();
  for (size_t i = 0; i < trainer->test_nets().size(); ++i) {
    take(trainer->test_nets()[i]->plan().memory);
    if (last_tests[i] != nullptr) take(last_tests[i]->plan().memory);
  }
}

}  // namespace

void DryRun(const TrainingRequest& asked, const TrainerOptions& training, const Replicas& replicas,
            int64_t free_bytes) {
  const int64_t free = free_bytes < 0 ? free_bytes : free_bytes / replicas.Sharing();
  std::unique_ptr<Trainer> trainer;
  try {
    trainer = std::make_unique<Trainer>(asked.solver, training);
  } catch (const MemoryShortage& e) {
    for (const std::string& line :
         DescribeMemory(e.use(), 0, HistoryText(asked.solver.param), *training.plan.device, free)) {
      std::cout << line << '\n';
    }
    throw;
  }
  const std::string ranks = RanksText(*trainer, replicas, training);
  if (!ranks.empty()) std::cout << ranks << "; each of them:\n";
  PrintDryRun(asked.line.flags, trainer.get(), replicas.count, free);
  CheckFits(trainer.get(), free);
}

}  // namespace doppio
