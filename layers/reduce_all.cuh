// One sum over all elements, as losses need it, on as many blocks as a GPU has.
//
// Static, because nvcc tells the bodies of two files apart by the functions that they are in.
#ifndef DOPPIO_LAYERS_REDUCE_ALL_CUH_
#define DOPPIO_LAYERS_REDUCE_ALL_CUH_

#include "core/device/launch.cuh"

namespace doppio {

// Few enough parts for one block to add up, and none so long that ReduceRows would part it again.
inline int64_t ReduceAllParts(int64_t n) { return std::clamp<int64_t>(n / launch::kPartOfRow, 1, 1024); }

// Memory that ReduceAll works in.
template <class Sum>
int64_t ReduceAllBytes(int64_t n) {
  const int64_t parts = ReduceAllParts(n);
  return parts == 1 ? 0 : parts * static_cast<int64_t>(sizeof(Sum));
}

// finish(sum) once, where sum combines map(i) for i in [0, n), starting with `zero`. The order of additions depends on
// n only.
template <class Sum, class Map, class Combine, class Finish>
static void ReduceAll(const Gpu& gpu, int64_t n, const char* what, Sum zero, const Map& map, const Combine& combine,
                      const Finish& finish, void* room) {
  const int64_t parts = ReduceAllParts(n);
  if (parts == 1) {
    ReduceRows(
        gpu, 1, n, what, zero, DOPPIO_BODY(int64_t, int64_t i) { return map(i); }, combine,
        DOPPIO_BODY(int64_t, Sum sum) { finish(sum); }, nullptr);
    return;
  }
  const int64_t each = (n + parts - 1) / parts;
  Sum* partial = static_cast<Sum*>(room);
  ReduceRows(
      gpu, parts, each, what, zero,
      DOPPIO_BODY(int64_t part, int64_t c) {
        const int64_t i = part * each + c;
        return i < n ? map(i) : zero;
      },
      combine, DOPPIO_BODY(int64_t part, Sum sum) { partial[part] = sum; }, nullptr);
  ReduceRows(
      gpu, 1, parts, what, zero, DOPPIO_BODY(int64_t, int64_t part) { return partial[part]; }, combine,
      DOPPIO_BODY(int64_t, Sum sum) { finish(sum); }, nullptr);
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_REDUCE_ALL_CUH_
