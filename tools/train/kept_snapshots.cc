#include "tools/train/kept_snapshots.h"

#include <cstdlib>
#include <filesystem>

#include "core/base/file.h"
#include "core/base/log.h"

namespace doppio {
namespace {

// Removes the state first. Without its state a snapshot does not count as one, so an interrupted
// removal cannot leave a snapshot that a training resumes from.
void Remove(const SnapshotNames& names) {
  for (const std::string& path : {names.state, names.model}) {
    std::error_code error;
    std::filesystem::remove(path, error);
    if (error) LOG(WARNING) << "cannot remove '" << path << "': " << error.message();
  }
}

}  // namespace

void KeptSnapshots::AddEarlier(const std::string& prefix, int64_t iteration) {
  const std::string folder = DirName(prefix), begin = prefix.substr(folder.size()) + "_iter_";
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(folder.empty() ? "." : folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.compare(0, begin.size(), begin) != 0) continue;
    char* end = nullptr;
    const int64_t its = std::strtoll(name.c_str() + begin.size(), &end, 10);
    const std::string rest = end;
    const bool hdf5 = rest == ".solverstate.h5";
    if ((hdf5 || rest == ".solverstate") && its <= iteration)
      snapshots_[its] = NamesOfSnapshot(prefix, its, hdf5);
  }
}

void KeptSnapshots::Add(const TakenSnapshot& snapshot) {
  snapshots_[snapshot.iteration] = snapshot.names;
  if (last_ == 0) return;
  auto left = static_cast<int64_t>(snapshots_.size()) - last_;
  for (auto it = snapshots_.begin(); left > 0; --left) {
    if (keep_best_ && it->first == best_) {
      ++it;
      continue;
    }
    Remove(it->second);
    it = snapshots_.erase(it);
  }
}

const SnapshotNames* KeptSnapshots::best() const {
  const auto found = best_ ? snapshots_.find(*best_) : snapshots_.end();
  return found == snapshots_.end() ? nullptr : &found->second;
}

const SnapshotNames* KeptSnapshots::last() const {
  return snapshots_.empty() ? nullptr : &snapshots_.rbegin()->second;
}

}  // namespace doppio
