#include "core/device/launch.cuh"
#include "layers/common/rows_cuda.h"

namespace doppio {
namespace {

struct Earlier {
  DOPPIO_HD WrongLabelWord operator()(WrongLabelWord a, WrongLabelWord b) const {
    return a < b ? a : b;
  }
};

}  // namespace

void LaunchReadIndices(const Gpu& gpu, const IndexReader& reader, int64_t count,
                       const float* indices, int32_t* rows, WrongLabelWord* wrong, void* room) {
  ReduceRows(
      gpu, 1, count, "reading indices", kNoWrongLabel,
      DOPPIO_BODY(int64_t, int64_t i) {
        rows[i] = reader.Row(indices[i]);
        return rows[i] == kNoRow ? PackWrongLabel(i, indices[i]) : kNoWrongLabel;
      },
      Earlier(),
      DOPPIO_BODY(int64_t, WrongLabelWord first) {
        if (first != kNoWrongLabel) *wrong = first;
      },
      room);
}

int64_t ReadIndicesRoom(int64_t count) { return ReduceRowsBytes<WrongLabelWord>(1, count); }

void LaunchGatherRows(const Gpu& gpu, int64_t count, int64_t width, const int32_t* rows,
                      const float* from, const float* bias, float absent, float* to) {
  ForEachIndex(
      gpu, count * width, "picking rows", DOPPIO_BODY(int64_t i) {
        const int64_t row = i / width, at = i - row * width;
        const float value = rows[row] == kNoRow ? absent : from[rows[row] * width + at];
        to[i] = bias == nullptr ? value : value + bias[at];
      });
}

void LaunchAddRows(const Gpu& gpu, int64_t count, int64_t width, const int32_t* rows,
                   const float* from, float* to, int32_t* links) {
  // next[i] is the next position of the same row, or -1. first[i] is 1 if position i is the first
  // one of a valid row.
  int32_t *next = links, *first = links + count;
  ForEachIndex(
      gpu, count, "finding equal rows", DOPPIO_BODY(int64_t i) {
        int64_t behind = i + 1, before = i - 1;
        while (behind < count && rows[behind] != rows[i]) ++behind;
        while (before >= 0 && rows[before] != rows[i]) --before;
        next[i] = behind < count ? static_cast<int32_t>(behind) : -1;
        first[i] = before < 0 && rows[i] != kNoRow;
      });
  ForEachIndex(
      gpu, count * width, "adding up rows", DOPPIO_BODY(int64_t i) {
        const int64_t row = i / width, at = i - row * width;
        if (first[row] == 0) return;
        double sum = 0;
        for (int32_t r = static_cast<int32_t>(row); r >= 0; r = next[r])
          sum += static_cast<double>(from[r * width + at]);
        to[rows[row] * width + at] += static_cast<float>(sum);
      });
}

}  // namespace doppio
