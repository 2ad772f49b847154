// Atomic operations of host code in .cu files (reference counts, guards of static variables).
// -fsanitize=thread turns them into calls. These functions do the plain operations. Kernels contain
// none of them.
#include <cstdint>

extern "C" {

// The memory order is a constant in the caller, but not here. The strictest order is correct for
// all callers.
#define DOPPIO_ATOMICS(bits, type)                                                                 \
  type __tsan_atomic##bits##_load(const volatile type* at, int) {                                  \
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                  \
  }                                                                                                \
  void __tsan_atomic##bits##_store(volatile type* at, type value, int) {                           \
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                 \
  }                                                                                                \
  type __tsan_atomic##bits##_exchange(volatile type* at, type value, int) {                        \
    return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                       \
  }                                                                                                \
  type __tsan_atomic##bits##_fetch_add(volatile type* at, type value, int) {                       \
    return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);                                        \
  }                                                                                                \
  type __tsan_atomic##bits##_fetch_sub(volatile type* at, type value, int) {                       \
    return __atomic_fetch_sub(at, value, __ATOMIC_SEQ_CST);                                        \
  }                                                                                                \
  type __tsan_atomic##bits##_fetch_and(volatile type* at, type value, int) {                       \
    return __atomic_fetch_and(at, value, __ATOMIC_SEQ_CST);                                        \
  }                                                                                                \
  type __tsan_atomic##bits##_fetch_or(volatile type* at, type value, int) {                        \
    return __atomic_fetch_or(at, value, __ATOMIC_SEQ_CST);                                         \
  }                                                                                                \
  type __tsan_atomic##bits##_fetch_xor(volatile type* at, type value, int) {                       \
    return __atomic_fetch_xor(at, value, __ATOMIC_SEQ_CST);                                        \
  }                                                                                                \
  type __tsan_atomic##bits##_fetch_nand(volatile type* at, type value, int) {                      \
    return __atomic_fetch_nand(at, value, __ATOMIC_SEQ_CST);                                       \
  }                                                                                                \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile type* at, type* expected, type value, \
                                                    int, int) {                                    \
    return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST,               \
                                       __ATOMIC_SEQ_CST);                                          \
  }                                                                                                \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile type* at, type* expected, type value,   \
                                                  int, int) {                                      \
    return __atomic_compare_exchange_n(at, expected, value, true, __ATOMIC_SEQ_CST,                \
                                       __ATOMIC_SEQ_CST);                                          \
  }

DOPPIO_ATOMICS(8, uint8_t)
DOPPIO_ATOMICS(16, uint16_t)
DOPPIO_ATOMICS(32, uint32_t)
DOPPIO_ATOMICS(64, uint64_t)

void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

}  // extern "C"
