// Simulated device memory and pinned host memory. Thread-safe.
//
// Each device has one reserved address range. The host cannot access device memory (PROT_NONE)
// unless an OpenMemory exists. Even then, a block opens only at its first access, in the SIGSEGV
// handler. Opening therefore costs time only for blocks that are used, and guard pages stay closed.
// System calls (read, send, ...) on a closed block fail with EFAULT instead of opening it. Call
// CheckInside first, which opens the block.
#ifndef DOPPIO_TESTS_DOUBLE_MACHINE_MEMORY_H_
#define DOPPIO_TESTS_DOUBLE_MACHINE_MEMORY_H_

#include <cstdint>
#include <string>

namespace doppio::gpu_double {

// Value of Block::device for pinned memory.
constexpr int kPinned = -1;

// Fills new memory: a NaN in every float type. In blocks larger than 16 MiB, only the first and the
// last MiB are filled, and the rest is 0.
constexpr unsigned char kPoison = 0xFF;
// Fills the margins between the ends of a block and its guard pages. Freeing the block checks that
// the margins are unchanged.
constexpr unsigned char kMargin = 0xCB;

struct Block {
  char* begin = nullptr;
  int64_t bytes = 0;   // requested size
  int device = 0;      // device index, or kPinned
  int64_t number = 0;  // number of the allocation in the process, for messages
};

// Allocates `bytes` > 0, aligned to 256 bytes and filled with poison, with a closed guard page on
// each side. Returns null if the device has no room (settings: memory, fail_malloc). The block ends
// as close to the guard page behind it as the alignment allows.
void* AllocateDevice(int device, int64_t bytes);
// Allocates pinned host memory in the same way. The host may always access this memory.
void* AllocatePinned(int64_t bytes);
// Frees a block. Fault("free") if `at` is not the address of a live allocation. The addresses
// become PROT_NONE and are not reused for a long time, so that later accesses are detected.
void FreeDevice(void* at);
void FreePinned(void* at);

// Copies the description of the live block that contains `at` to *block. Returns false if there is
// none (pageable host memory, freed memory).
bool FindBlock(const void* at, Block* block);
// Returns true if `at` is in an address range reserved for device memory, allocated or not.
bool IsDeviceAddress(const void* at);
// Fault("bounds") unless [at, at + bytes) is inside one live block of device or pinned memory. An
// empty range is always valid. `what` names the work that accesses the bytes. If memory is open,
// also opens the block.
void CheckInside(const void* at, int64_t bytes, const std::string& what);
// Sets bytes of an open block of device or pinned memory. Whole pages of zeros take no memory until
// they are accessed again.
void SetBytes(void* at, int value, int64_t bytes);
// Describes an address: "block 17 of GPU 0 (4096 bytes) at byte 128", "host memory", "freed block
// 17 of GPU 0", ...
std::string Describe(const void* at);

// Sets whether kernels of `device` may access memory of `peer`, for cudaDeviceEnablePeerAccess and
// cudaDeviceDisablePeerAccess. Initially a device can access only its own memory.
void SetPeerAccess(int device, int peer, bool enabled);
bool HasPeerAccess(int device, int peer);

int64_t FreeBytes(int device);
int64_t TotalBytes(int device);

// While an OpenMemory exists in any thread, this process can access device memory.
class OpenMemory {
 public:
  OpenMemory();
  ~OpenMemory();
  OpenMemory(const OpenMemory&) = delete;
  OpenMemory& operator=(const OpenMemory&) = delete;
};

// Installs the SIGSEGV handler. Fault("host-access") if the host accesses a closed block;
// Fault("bounds") at guard pages and unallocated memory. Other faults go to the previously
// installed handler. Allocations and OpenMemory call this function.
void WatchHostAccess();

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_MEMORY_H_
