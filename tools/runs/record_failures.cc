#include "tools/runs/record_failures.h"

#include <filesystem>

#include "core/base/file.h"
#include "parallel/meeting/texts.h"
#include "tools/runs/run_status.h"

namespace doppio {

std::string AgreedFolder(ProcessWorld* world, const RunRecords& records) {
  std::string folder = records.run_dir();
  if (!folder.empty()) folder = std::filesystem::absolute(folder).string();
  return world == nullptr ? folder : BroadcastText(&world->control(), folder, 0);
}

std::shared_ptr<LogFile> RecordFailures(ProcessWorld* world, const std::string& folder,
                                        RunRecords* records, CommonEnd* end) {
  const bool writes = world == nullptr || world->rank() == 0;
  if (folder.empty()) return nullptr;
  std::shared_ptr<LogFile> log;
  if (!writes && FileExists(folder + "/run.json")) {
    log = std::make_shared<LogFile>(folder + "/log_rank_" + std::to_string(world->rank()) + ".txt",
                                    true);
  }
  end->SetRecord([=](const Error& failure) {
    if (writes) {
      records->Fail(failure);
    } else {
      if (log != nullptr) log->AddError(failure.what());
      RecordLostRun(folder, failure);
    }
  });
  return log;
}

}  // namespace doppio
