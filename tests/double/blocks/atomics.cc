// CUDA's atomic operations. Kernel threads run one at a time, so plain loads and stores suffice.
#include "tests/double/blocks/cuda_language.h"
#include "tests/double/blocks/hooks.h"

namespace {

template <class T, class F>
T Change(T* at, const F& f) {
  doppio::gpu_double::NoteAtomic(at, sizeof *at);
  const T before = *at;
  *at = f(before);
  return before;
}

}  // namespace

#define DOPPIO_ATOMIC(type, name, expression)                               \
  type name(type* at, type value) {                                         \
    return Change(at, [value](type before) -> type { return expression; }); \
  }
#define DOPPIO_ATOMIC_CAS(type)                                                          \
  type atomicCAS(type* at, type expected, type value) {                                  \
    return Change(at, [=](type before) { return before == expected ? value : before; }); \
  }

DOPPIO_ATOMIC(int, atomicMin, before < value ? before : value)
DOPPIO_ATOMIC(int, atomicMax, before > value ? before : value)
DOPPIO_ATOMIC(unsigned, atomicMin, before < value ? before : value)
DOPPIO_ATOMIC(unsigned, atomicMax, before > value ? before : value)
DOPPIO_ATOMIC(int, atomicAdd,
              static_cast<int>(static_cast<unsigned>(before) + static_cast<unsigned>(value)))
DOPPIO_ATOMIC(unsigned, atomicAdd, before + value)
DOPPIO_ATOMIC(float, atomicAdd, before + value)
DOPPIO_ATOMIC(int, atomicExch, (static_cast<void>(before), value))
DOPPIO_ATOMIC(unsigned, atomicExch, (static_cast<void>(before), value))
DOPPIO_ATOMIC_CAS(int)
DOPPIO_ATOMIC_CAS(unsigned)
