// Device memory and pinned host memory. Device memory lies in one reserved range of addresses per
// device, and the host cannot touch it (PROT_NONE) but while OpenMemory objects exist. Even then a
// block is opened only at its first touch, by the handler of SIGSEGV, so that opening costs only
// for blocks that are used and guard pages stay closed. The kernel's calls (read, send, ...) do not
// open blocks, they fail with EFAULT: pass device memory to them only after CheckInside, which
// opens the block too. Thread-safe.
#ifndef DOPPIO_TESTS_DOUBLE_MACHINE_MEMORY_H_
#define DOPPIO_TESTS_DOUBLE_MACHINE_MEMORY_H_

#include <cstdint>
#include <string>

namespace doppio::gpu_double {

constexpr int kPinned = -1;

// What new memory is filled with: a NaN in every float type. Blocks above 64 MiB: only their first
// and last MiB, the rest is 0.
constexpr unsigned char kPoison = 0xFF;
// What lies between a block's ends and the guard pages; checked when the block is freed.
constexpr unsigned char kMargin = 0xCB;

struct Block {
  char* begin = nullptr;
  int64_t bytes = 0;   // as asked for
  int device = 0;      // or kPinned
  int64_t number = 0;  // the n-th allocation of the process, for messages
};

// `bytes` > 0 of a device, at a multiple of 256, with a closed guard page behind and in front,
// filled with poison. Null when the device has no room (settings: memory, fail_malloc). The block
// ends at the guard page as closely as the alignment of 256 allows; the bytes in between are
// checked for changes when it is freed.
void* AllocateDevice(int device, int64_t bytes);
// Pinned host memory: accessible to the host, otherwise as above. Null without memory.
void* AllocatePinned(int64_t bytes);
// Fault("free") unless `at` is what an allocation returned. Addresses are not used again for a long
// time, and freed memory is PROT_NONE, so that later accesses are found.
void FreeDevice(void* at);
void FreePinned(void* at);

// The live block that contains `at`; false when there is none (pageable host memory, or freed). A
// copy, so that it may not vanish.
bool FindBlock(const void* at, Block* block);
// Whether `at` lies in the ranges that are reserved for device memory, live or not.
bool IsDeviceAddress(const void* at);
// Fault("bounds", ...) unless [at, at + bytes) is inside one live block of device memory or pinned
// memory. `what` names who touches it. While memory is open, opens the block, too. 0 bytes are
// inside anything.
void CheckInside(const void* at, int64_t bytes, const std::string& what);
// "block 17 of GPU 0 (4096 bytes) at byte 128", "host memory", "freed block 17 of GPU 0", ...
std::string Describe(const void* at);

// Whether kernels of `device` may touch memory of device `peer`: what cudaDeviceEnablePeerAccess
// and cudaDeviceDisablePeerAccess set. At first a device reaches itself only.
void SetPeerAccess(int device, int peer, bool enabled);
bool HasPeerAccess(int device, int peer);

int64_t FreeBytes(int device);
int64_t TotalBytes(int device);

// While one exists, device memory can be touched by this process. Counted over threads.
class OpenMemory {
 public:
  OpenMemory();
  ~OpenMemory();
  OpenMemory(const OpenMemory&) = delete;
  OpenMemory& operator=(const OpenMemory&) = delete;
};

// Installs the handler of SIGSEGV that turns a touch of device memory by the host into
// Fault("host-access") with the address described, and hands on everything else. Called by the
// first allocation.
void WatchHostAccess();

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_MEMORY_H_
