#include "solvers/update/solver_history.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "solvers/update/rule_check.h"
#include "solvers/update/rules.h"

namespace doppio {
namespace {

constexpr int64_t kAlignment = 64;  // elements, as in the arenas of parameters

// Returns the first aligned byte of memory from ZeroedMemory.
char* AlignedStart(std::vector<char>* memory) {
  const auto address = reinterpret_cast<uintptr_t>(memory->data());
  return memory->data() + (kAlignment - address % kAlignment) % kAlignment;
}

// Returns kMaxSlots if the rule keeps no sums of squares.
size_t FirstSlotOfSquares(const std::string& rule) {
  int slot = kMaxSlots;
  ForEachRule([&](auto each) {
    if (rule == decltype(each)::kName) slot = decltype(each)::kSquares;
  });
  return static_cast<size_t>(slot);
}

// Memory of a device would be cached for ever, so this memory comes from the C library.
std::vector<char> ZeroedMemory(int64_t bytes) { return std::vector<char>(bytes + kAlignment); }

}  // namespace

SolverHistory::SolverHistory(ParamStore* params, const SolverParameter& param,
                             const SharedUpdate& shared)
    : params_(params),
      rule_(param.type()),
      shares_(shared.shares),
      unshared_begin_(params->arenas()[0].size),
      rule_slots_(HistorySlots(param) - (AveragesWeights(param) ? 1 : 0)),
      slots_(HistorySlots(param)) {
  int64_t elements = params->arenas()[0].size;
  if (shares_ == nullptr) {
    ranges_ = {{0, elements, 0}};
  } else {
    DOPPIO_CHECK(params->device()->properties.host_memory, "ranks on the host divide the update");
    for (int i : params->learnable()) {
      const Param& p = params->param(i);
      if (!p.gradient) unshared_begin_ = std::min(unshared_begin_, p.offset);
    }
    elements = Place((*shares_)[shared.control->rank()], &ranges_);
  }
  for (size_t arena = 0; arena < params->arenas().all().size(); ++arena) {
    const ParamArena& values = params->arenas()[arena];
    for (int slot = 0; slot < slots_; ++slot)
      arenas_.emplace_back(values.device, (arena == 0 ? elements : values.size) * element_bytes());
  }
}

int64_t SolverHistory::Place(const std::vector<ArenaRange>& share,
                             std::vector<UpdateRange>* ranges) const {
  int64_t elements = 0;
  const auto add = [&](int64_t begin, int64_t end) {
    if (begin == end) return;
    ranges->push_back({begin, end, elements - begin});
    elements += (end - begin + kAlignment - 1) / kAlignment * kAlignment;
  };
  for (const ArenaRange& range : share) {
    DOPPIO_CHECK(range.end <= unshared_begin_, "parameters with a gradient come first");
    add(range.begin, range.end);
  }
  add(unshared_begin_, params_->arenas()[0].size);
  return elements;
}

int64_t SolverHistory::largest_bytes() const {
  int64_t largest = 0;
  for (const ParamArena& arena : params_->arenas().all())
    largest += shares_ == nullptr ? arena.size : 0;
  for (int r = 0; shares_ != nullptr && r < static_cast<int>(shares_->size()); ++r) {
    std::vector<UpdateRange> ranges;
    largest = std::max(largest, Place((*shares_)[r], &ranges));
  }
  return largest * slots_ * element_bytes();
}

std::vector<Tensor> SolverHistory::arenas() const {
  std::vector<Tensor> arenas;
  for (const Buffer& slot : arenas_) {
    const Shape shape = {slot.bytes() / element_bytes()};
    arenas.push_back(Tensor({shape, params_->dtype(), Layout()}, slot.data()));
  }
  return arenas;
}

char* SolverHistory::Whole(size_t slot, const Param& param) const {
  const Buffer& arena = arenas_[static_cast<size_t>(param.arena * slots_) + slot];
  return static_cast<char*>(arena.data()) + param.offset * element_bytes();
}

char* SolverHistory::At(size_t slot, int64_t element) const {
  const auto range = std::upper_bound(ranges_.begin(), ranges_.end(), element,
                                      [](int64_t at, const auto& r) { return at < r.end; });
  return static_cast<char*>(arenas_[slot].data()) + (element + range->shift) * element_bytes();
}

WholeHistory SolverHistory::Gather(Communicator* bulk) const {
  WholeHistory whole;
  for (size_t slot = 0; slot < static_cast<size_t>(slots_); ++slot) {
    char* arena = nullptr;
    if (shares_ != nullptr) {
      if (bulk->rank() == 0) {
        whole.memory.push_back(ZeroedMemory(params_->arenas()[0].size * element_bytes()));
        arena = AlignedStart(&whole.memory.back());
      }
      GatherSlot(slot, arena, bulk);
      if (arena == nullptr) continue;
    }
    for (int i : params_->learnable()) {
      const Param& p = params_->param(i);
      whole.blobs.emplace_back(
          p.value, shares_ == nullptr ? Whole(slot, p) : arena + p.offset * element_bytes());
    }
  }
  return whole;
}

// Copies a slot of all ranks to `whole`, which is null on all ranks but 0.
void SolverHistory::GatherSlot(size_t slot, char* whole, Communicator* bulk) const {
  constexpr int64_t kPiece = int64_t{1} << 20;  // elements
  const int64_t bytes = element_bytes();
  if (whole != nullptr) {
    for (const UpdateRange& r : ranges_)
      std::memcpy(whole + r.begin * bytes, At(slot, r.begin), (r.end - r.begin) * bytes);
  }
  std::vector<char> passing;  // what neither this rank nor rank 0 needs
  bulk->SetBucket(-1);
  for (int rank = 1; rank < bulk->size(); ++rank) {
    for (const ArenaRange& range : (*shares_)[rank]) {
      for (int64_t begin = range.begin; begin < range.end; begin += kPiece) {
        const int64_t piece = std::min(kPiece, range.end - begin) * bytes;
        char* at = whole == nullptr ? nullptr : whole + begin * bytes;
        if (bulk->rank() == rank) at = At(slot, begin);
        if (at == nullptr) passing.resize(kPiece * bytes);
        bulk->Broadcast(at == nullptr ? passing.data() : at, piece, rank);
      }
    }
  }
}

void SolverHistory::CheckBlobs(const std::vector<PlainBlob>& blobs, const std::string& file,
                               bool averaged) const {
  const std::vector<int>& learnable = params_->learnable();
  const size_t wanted = static_cast<size_t>(rule_slots_ + (averaged ? 1 : 0)) * learnable.size();
  if (blobs.size() != wanted) {
    throw FileError(file, " holds ", blobs.size(), " history blobs, but ", rule_, " keeps ", wanted,
                    " for the ", learnable.size(),
                    " parameters of this net; resume with the net and the solver type that it was "
                    "written with, or start a new training from its weights with --weights");
  }
  // Only the sizes must match, because old files store the same elements in other shapes.
  for (size_t i = 0; i < blobs.size(); ++i) {
    const Param& param = params_->param(learnable[i % learnable.size()]);
    if (static_cast<int64_t>(blobs[i].data.size()) == param.shape.count()) continue;
    throw FileError(file, ": history blob ", i, " has ", blobs[i].data.size(),
                    " elements, but parameter ", param.index, " of layer '", param.layer, "' is ",
                    param.shape.ToString(), "; this is the state of another net");
  }
  CheckSquares(blobs, file);
}

// The states of other Caffes do not name their rule, and several rules keep histories of the same
// sizes.
void SolverHistory::CheckSquares(const std::vector<PlainBlob>& blobs,
                                 const std::string& file) const {
  const size_t count = params_->learnable().size();
  const size_t end = static_cast<size_t>(rule_slots_) * count;
  for (size_t i = FirstSlotOfSquares(rule_) * count; i < end; ++i) {
    const std::vector<float>& values = blobs[i].data;
    if (std::none_of(values.begin(), values.end(), [](float value) { return value < 0; })) continue;
    throw FileError(
        file, ": history blob ", i, " has negative values, but that of ", rule_,
        " holds sums of squares, so this is the state of another solver type; resume with the type "
        "that it was written with, or start a new training from its weights with --weights");
  }
}

void SolverHistory::Import(const std::vector<PlainBlob>& blobs, const std::string& file,
                           bool averaged) {
  CheckBlobs(blobs, file, averaged);  // before any blob is written
  const std::vector<int>& learnable = params_->learnable();
  for (size_t i = 0; i < static_cast<size_t>(rule_slots_) * learnable.size(); ++i) {
    Write(blobs[i], params_->param(learnable[i % learnable.size()]), i / learnable.size());
  }
}

void SolverHistory::ImportValues(const std::vector<PlainBlob>& blobs) {
  const std::vector<int>& learnable = params_->learnable();
  const size_t first = static_cast<size_t>(rule_slots_) * learnable.size();
  for (size_t i = 0; i < learnable.size(); ++i)
    WriteTensor(blobs[first + i].data, params_->param(learnable[i]).value, params_->device());
}

// Writes the part of `blob` that is in the ranges.
void SolverHistory::Write(const PlainBlob& blob, const Param& param, size_t slot) {
  if (shares_ == nullptr)
    return WriteTensor(blob.data, Tensor(param.value, Whole(slot, param)), params_->device());
  std::vector<char> memory = ZeroedMemory(param.value.bytes());
  char* const stored = AlignedStart(&memory);
  WriteTensor(blob.data, Tensor(param.value, stored), params_->device());
  for (const UpdateRange& range : ranges_) {
    const int64_t begin = std::max(range.begin, param.offset);
    const int64_t end = std::min(range.end, param.offset + param.value.stored());
    if (begin >= end) continue;
    std::memcpy(At(slot, begin), stored + (begin - param.offset) * element_bytes(),
                (end - begin) * element_bytes());
  }
}

}  // namespace doppio
