#include "core/net/memory_need.h"

#include <algorithm>
#include <utility>

#include "core/base/bytes.h"

namespace doppio {
namespace {

std::string Parts(const MemoryUse& use) {
  const std::pair<const char*, int64_t> parts[] = {
      {"weights", use.params},    {"gradients", use.param_grads},   {"history", use.history},
      {"exchange", use.exchange}, {"activations", use.activations}, {"scratch", use.scratch}};
  std::string text;
  for (const auto& [name, bytes] : parts) {
    if (bytes > 0) text += (text.empty() ? "" : ", ") + std::string(name) + " " + Bytes(bytes);
  }
  return text;
}

// "a, b or c"
std::string Alternatives(const std::vector<std::string>& list) {
  std::string text;
  for (size_t i = 0; i < list.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == list.size() ? " or " : ", ") + list[i];
  }
  return text;
}

// "about 40"; "between 40 and 95" if the bounds are far apart; "at most 20" if the lower one is 0.
std::string BatchText(const FittingBatch& batch) {
  const std::string least = std::to_string(batch.least), most = std::to_string(batch.most);
  if (batch.least == 0) return "at most " + most;
  if (batch.most - batch.least <= std::max<int64_t>(1, batch.least / 16)) return "about " + least;
  return "between " + least + " and " + most;
}

}  // namespace

FittingBatch MemoryNeed::LargestBatch(int64_t free) const {
  std::vector<Lifetime> scaled = blocks;
  const int64_t fixed = total() - PlaceBlocks(&scaled) - scratch;
  const auto of_rows = [this](int64_t bytes, int64_t rows) {
    return bytes % batch == 0 ? bytes / batch * rows : bytes;
  };
  const auto largest = [&](bool scratch_vanishes) {
    const auto fits = [&](int64_t rows) {
      for (size_t i = 0; i < blocks.size(); ++i) scaled[i].bytes = of_rows(blocks[i].bytes, rows);
      const int64_t then = scratch_vanishes ? 0 : of_rows(scratch, rows);
      return fixed + PlaceBlocks(&scaled) + then <= free;
    };
    int64_t fitting = 0, too_many = batch;
    while (too_many - fitting > 1) {
      const int64_t rows = fitting + (too_many - fitting) / 2;
      (fits(rows) ? fitting : too_many) = rows;
    }
    return fitting;
  };
  return {largest(false), largest(scratch % batch != 0)};
}

void MemoryNeed::CheckFits(int64_t free, const Device& device) const {
  if (free < 0 || total() <= free) return;
  std::string message = net + " does not fit into the memory of " + device.name() + ": it needs " +
                        Bytes(total()) + " (" + Parts(*this) + "), " + Bytes(total() - free) +
                        " more than the " + Bytes(free) + " that are free";
  std::vector<std::string> remedies;
  const FittingBatch fitting = batch > 0 ? LargestBatch(free) : FittingBatch();
  if (fitting.most > 0) {
    message += "; the largest batch that fits is " + BatchText(fitting) + ", and this one is " +
               std::to_string(batch);
    remedies.push_back((fitting.least > 0 ? "--batch=" + std::to_string(fitting.least)
                                          : std::string("a smaller --batch")) +
                       (backward ? " (and a larger iter_size to make up for it)" : ""));
  } else if (batch > 0) {
    message += "; even a batch of 1 does not fit";
  }
  if (backward) remedies.push_back("--recompute");
  if (device.kind() == DeviceKind::kCuda) {
    if (backward) remedies.push_back("--offload");
    remedies.push_back("--precision=bf16");
  }
  remedies.push_back("ending other programs that use this memory");
  throw MemoryShortage(message + ". What may help: " + Alternatives(remedies), *this);
}

}  // namespace doppio
