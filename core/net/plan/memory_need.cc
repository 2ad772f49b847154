#include "core/net/plan/memory_need.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/bytes.h"

namespace doppio {
namespace {

std::string Parts(const MemoryUse& use) {
  const std::pair<const char*, int64_t> parts[] = {
      {"weights", use.params},    {"gradients", use.param_grads},   {"history", use.history},
      {"exchange", use.exchange}, {"activations", use.activations}, {"scratch", use.scratch},
      {"kept", use.kept}};
  std::string text;
  for (const auto& [name, bytes] : parts) {
    if (bytes > 0) text += (text.empty() ? "" : ", ") + std::string(name) + " " + Bytes(bytes);
  }
  return text;
}

// Returns the items as "a, b or c".
std::string Alternatives(const std::vector<std::string>& list) {
  std::string text;
  for (size_t i = 0; i < list.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == list.size() ? " or " : ", ") + list[i];
  }
  return text;
}

// Returns the difference between two batches that advice to the user may ignore.
int64_t Nearby(int64_t batch) { return std::max<int64_t>(1, batch / 16); }

}  // namespace

std::optional<int64_t> MemoryNeed::LargestBatch(int64_t free) const {
  if (batch < 1 || !at_batch) return std::nullopt;
  constexpr int kMaxPlans = 20;
  const int64_t fixed = total() - activations - scratch - kept;
  struct Batch {
    int64_t rows, bytes;
  };
  try {
    Batch fits{1, fixed + at_batch(1)}, refused{batch, total()};
    if (batch == 1 || fits.bytes > free) return 0;
    for (int i = 1; i < kMaxPlans && refused.rows - fits.rows > Nearby(fits.rows); ++i) {
      // Memory is nearly linear in the rows, so odd steps try an interpolated batch. Even steps try
      // the batch just above the largest that fits, which ends the search.
      const double share =
          static_cast<double>(free - fits.bytes) / static_cast<double>(refused.bytes - fits.bytes);
      const auto estimate =
          static_cast<int64_t>(share * static_cast<double>(refused.rows - fits.rows));
      const int64_t step = i % 2 == 1 ? estimate : Nearby(fits.rows);
      const int64_t rows = std::clamp(fits.rows + step, fits.rows + 1, refused.rows - 1);
      const Batch next{rows, fixed + at_batch(rows)};
      (next.bytes <= free ? fits : refused) = next;
    }
    return fits.rows;
  } catch (const Error&) {
    return std::nullopt;  // the net's shapes allow only one batch
  }
}

void MemoryNeed::CheckFits(int64_t free, const Device& device) const {
  if (free < 0 || total() <= free) return;
  std::string message = net + " does not fit in the memory of " + device.name() + ": it needs " +
                        Bytes(total()) + " (" + Parts(*this) + "), " + Bytes(total() - free) +
                        " more than the " + Bytes(free) + " that are free";
  std::vector<std::string> remedies;
  const std::optional<int64_t> largest = LargestBatch(free);
  if (largest.value_or(0) > 0) {
    const std::string rows = std::to_string(*largest);
    message += "; the largest batch that fits is about " + rows + ", and this one is " +
               std::to_string(batch);
    remedies.push_back("--batch=" + rows +
                       (backward ? " (and a larger iter_size to make up for it)" : ""));
  } else if (largest) {
    message += "; even a batch of 1 does not fit";
  }
  if (backward) remedies.push_back("--recompute");
  if (!device.properties.host_memory) {
    if (backward) remedies.push_back("--offload");
    remedies.push_back("--precision=bf16");
  }
  remedies.push_back("ending other programs that use this memory");
  throw MemoryShortage(message + ". Possible remedies: " + Alternatives(remedies), *this);
}

}  // namespace doppio
