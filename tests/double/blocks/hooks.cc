#include "tests/double/blocks/hooks.h"

#include <cstdint>
#include <string>

#include "tests/double/blocks/emulator.h"
#include "tests/double/blocks/places.h"
#include "tests/double/blocks/shared_memory.h"
#include "tests/double/machine/fault.h"
#include "tests/double/machine/memory.h"
#include "tests/double/machine/races.h"

namespace doppio::gpu_double {

__thread bool in_kernel __attribute__((tls_model("initial-exec"))) = false;

namespace {

Range stacks, arguments;
Range pinned;  // the pinned block that this kernel accessed last

enum class Kind { kRead, kWrite, kAtomic };

[[noreturn]] void FaultHere(const char* check, const std::string& text) {
  Fault(check, WhatRuns() + ": block " + std::to_string(here.number.block) + ", thread " +
                   std::to_string(here.number.thread) + " " + text);
}

// A kernel cannot access host memory that is not pinned.
void CheckPinned(uintptr_t address) {
  if (pinned.Has(address)) return;
  const void* at = reinterpret_cast<const void*>(address);
  Block block;
  if (!FindBlock(at, &block)) FaultHere("bounds", "touches " + Describe(at));
  pinned = {reinterpret_cast<uintptr_t>(block.begin), static_cast<size_t>(block.bytes)};
}

__attribute__((noinline)) void NoteOutside(const void* at, size_t bytes, Kind kind) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(at);
  if (!IsDeviceAddress(at)) {
    if (arguments.Has(address)) {
      if (kind != Kind::kRead) FaultHere("bounds", "writes to the arguments of its kernel");
      return;
    }
    const StaticPlace place = PlaceOf(address);
    if (place == StaticPlace::kConstant) {
      if (kind != Kind::kRead) FaultHere("bounds", "writes to a constant");
      return;
    }
    if (place == StaticPlace::kWritable) {
      NoteShared(at, bytes,
                 kind == Kind::kRead    ? SharedAccess::kRead
                 : kind == Kind::kWrite ? SharedAccess::kWrite
                                        : SharedAccess::kAtomic);
      return;
    }
    CheckPinned(address);
  }
  Touch(here.number, at, static_cast<int64_t>(bytes), kind != Kind::kRead, kind == Kind::kAtomic);
}

// Turns the checks off meanwhile, because the linker may have chosen the instrumented copies of the
// double's containers.
__attribute__((noinline)) void NoteUnwatched(const void* at, size_t bytes, Kind kind) {
  in_kernel = false;
  NoteOutside(at, bytes, kind);
  in_kernel = true;
}

[[gnu::cold]] [[gnu::noinline]] void FaultMisaligned(const void* at, size_t alignment) {
  in_kernel = false;
  FaultHere("alignment", "accesses " + Describe(at) + ", which is not at a multiple of " +
                             std::to_string(alignment) + " bytes");
}

inline bool Watched(const void* at) {
  return in_kernel && !stacks.Has(reinterpret_cast<uintptr_t>(at));
}

inline void Note(const void* at, size_t bytes, Kind kind) {
  if (Watched(at)) NoteUnwatched(at, bytes, kind);
}

// Checks an access of kBytes bytes. GCC reports accesses of 16 bytes only for types with an
// alignment of 8 or more.
template <size_t kBytes>
inline void NoteAligned(const void* at, Kind kind) {
  constexpr size_t kAlignment = kBytes < 8 ? kBytes : 8;
  if (!Watched(at)) return;
  if (reinterpret_cast<uintptr_t>(at) % kAlignment != 0) FaultMisaligned(at, kAlignment);
  NoteUnwatched(at, kBytes, kind);
}

}  // namespace

void WatchStacks(const void* begin, size_t bytes) {
  stacks = {reinterpret_cast<uintptr_t>(begin), bytes};
}
void WatchArguments(const void* begin, size_t bytes) {
  arguments = {reinterpret_cast<uintptr_t>(begin), bytes};
  pinned = {};
  ReadPlaces();
}
void NoteAtomic(const void* at, size_t bytes) {
  if (in_kernel && reinterpret_cast<uintptr_t>(at) % bytes != 0) FaultMisaligned(at, bytes);
  Note(at, bytes, Kind::kAtomic);
}

}  // namespace doppio::gpu_double

// The functions that the instrumentation calls.
using doppio::gpu_double::Kind;
using doppio::gpu_double::Note;
using doppio::gpu_double::NoteAligned;

#define DOPPIO_HOOKS_OF(bytes)                                                          \
  void __tsan_read##bytes(void* at) { NoteAligned<bytes>(at, Kind::kRead); }            \
  void __tsan_write##bytes(void* at) { NoteAligned<bytes>(at, Kind::kWrite); }          \
  void __tsan_volatile_read##bytes(void* at) { NoteAligned<bytes>(at, Kind::kRead); }   \
  void __tsan_volatile_write##bytes(void* at) { NoteAligned<bytes>(at, Kind::kWrite); } \
  void __tsan_unaligned_read##bytes(void* at) { Note(at, bytes, Kind::kRead); }         \
  void __tsan_unaligned_write##bytes(void* at) { Note(at, bytes, Kind::kWrite); }

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

DOPPIO_HOOKS_OF(1)
DOPPIO_HOOKS_OF(2)
DOPPIO_HOOKS_OF(4)
DOPPIO_HOOKS_OF(8)
DOPPIO_HOOKS_OF(16)

void __tsan_read_range(void* at, size_t bytes) { Note(at, bytes, Kind::kRead); }
void __tsan_write_range(void* at, size_t bytes) { Note(at, bytes, Kind::kWrite); }

// For -fsanitize=alignment. This check uses the alignment of the type, so it covers packs of 16
// bytes even if the compiler loads their elements one by one.
struct TypeMismatch {
  const char* file;
  uint32_t line, column;
  const void* type;
  unsigned char log_alignment, kind;
};
void __ubsan_handle_type_mismatch_v1(TypeMismatch* found, void* at) {
  using namespace doppio::gpu_double;
  const size_t alignment = size_t{1} << found->log_alignment;
  if (in_kernel) FaultMisaligned(at, alignment);
  Fault("alignment", std::string(found->file) + ":" + std::to_string(found->line) +
                         ": the host accesses an address that is not at a multiple of " +
                         std::to_string(alignment) + " bytes");
}
void __ubsan_handle_type_mismatch_v1_abort(TypeMismatch* found, void* at) {
  __ubsan_handle_type_mismatch_v1(found, at);
}

}  // extern "C"
