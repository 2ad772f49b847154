// Device memory and pinned host memory. Thread-safe.
//
// Each device has one reserved range of addresses. The host cannot touch device memory (PROT_NONE)
// unless an OpenMemory exists. Even then a block opens only at its first touch, in the handler of
// SIGSEGV: opening costs only for blocks that are used, and guard pages stay closed. System calls
// (read, send, ...) do not open blocks, they fail with EFAULT: call CheckInside first, which opens
// the block.
#ifndef DOPPIO_TESTS_DOUBLE_MACHINE_MEMORY_H_
#define DOPPIO_TESTS_DOUBLE_MACHINE_MEMORY_H_

#include <cstdint>
#include <string>

namespace doppio::gpu_double {

constexpr int kPinned = -1;

// Fills new memory: a NaN in every float type. In blocks above 64 MiB it fills only the first and
// the last MiB; the rest is 0.
constexpr unsigned char kPoison = 0xFF;
// Fills the margins between a block's ends and its guard pages. Freeing the block checks that they
// still hold it.
constexpr unsigned char kMargin = 0xCB;

struct Block {
  char* begin = nullptr;
  int64_t bytes = 0;   // as asked for
  int device = 0;      // or kPinned
  int64_t number = 0;  // the n-th allocation of the process, for messages
};

// Allocates `bytes` > 0 at a multiple of 256, filled with poison, with a closed guard page in front
// and behind. Returns null when the device has no room (settings: memory, fail_malloc). The block
// ends as close to the guard page behind as the alignment allows.
void* AllocateDevice(int device, int64_t bytes);
// Likewise for pinned host memory, which the host may always touch.
void* AllocatePinned(int64_t bytes);
// Frees a block; Fault("free") if no such allocation returned `at`. Freed memory is PROT_NONE and
// its addresses are not used again for a long time, so that later accesses are found.
void FreeDevice(void* at);
void FreePinned(void* at);

// Copies the live block that contains `at` to *block. Returns false if there is none (pageable host
// memory, freed memory).
bool FindBlock(const void* at, Block* block);
// Returns true if `at` lies in a range that is reserved for device memory, allocated or not.
bool IsDeviceAddress(const void* at);
// Fault("bounds") unless [at, at + bytes) lies inside one live block of device or pinned memory; 0
// bytes always do. `what` names the work that touches them. While memory is open, also opens the
// block.
void CheckInside(const void* at, int64_t bytes, const std::string& what);
// "block 17 of GPU 0 (4096 bytes) at byte 128", "host memory", "freed block 17 of GPU 0", ...
std::string Describe(const void* at);

// Says whether kernels of `device` may touch memory of `peer`, for cudaDeviceEnablePeerAccess and
// cudaDeviceDisablePeerAccess. At first a device reaches only its own memory.
void SetPeerAccess(int device, int peer, bool enabled);
bool HasPeerAccess(int device, int peer);

int64_t FreeBytes(int device);
int64_t TotalBytes(int device);

// While one exists, in any thread, this process can touch device memory.
class OpenMemory {
 public:
  OpenMemory();
  ~OpenMemory();
  OpenMemory(const OpenMemory&) = delete;
  OpenMemory& operator=(const OpenMemory&) = delete;
};

// Installs the handler of SIGSEGV: Fault("host-access") when the host touches a closed block,
// Fault("bounds") at guard pages and at memory that is not allocated; other faults go to the
// handler that was installed before. Allocations and OpenMemory call it.
void WatchHostAccess();

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_MEMORY_H_
