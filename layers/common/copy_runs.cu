#include "layers/common/copy_runs_cuda.h"

#include "core/device/elementwise.cuh"
#include "layers/common/channels_cuda.h"

namespace doppio {
namespace {

// A thread for every kBytes of a run, which divide all offsets.
template <int kBytes>
static void CopyUnits(const Gpu& gpu, int64_t rows, int64_t bytes, void* to, int64_t to_pitch,
                      const void* from, int64_t from_pitch) {
  const int64_t units = bytes / kBytes, count = rows * units;
  const IndexDivider by_units(units, count);
  const auto* source = static_cast<const unsigned char*>(from);
  auto* target = static_cast<unsigned char*>(to);
  ForEachIndex(
      gpu, count, "a copy of rows", DOPPIO_BODY(int64_t i) {
        const int64_t row = by_units(i), at = (i - row * units) * kBytes;
        StorePack(LoadPack<kBytes>(source + row * from_pitch + at), target + row * to_pitch + at);
      });
}

}  // namespace

void CopyRuns(const Gpu& gpu, int64_t rows, int64_t bytes, void* to, int64_t to_pitch,
              const void* from, int64_t from_pitch) {
  // A single run has no pitch that must be a multiple of anything.
  const int64_t pitches = rows == 1 ? 0 : to_pitch | from_pitch;
  const int64_t all =
      static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from)) |
      bytes | pitches;
  if (all % 16 == 0) {
    CopyUnits<16>(gpu, rows, bytes, to, to_pitch, from, from_pitch);
  } else if (all % 4 == 0) {
    CopyUnits<4>(gpu, rows, bytes, to, to_pitch, from, from_pitch);
  } else if (all % 2 == 0) {
    CopyUnits<2>(gpu, rows, bytes, to, to_pitch, from, from_pitch);
  } else {
    CopyUnits<1>(gpu, rows, bytes, to, to_pitch, from, from_pitch);
  }
}

}  // namespace doppio
