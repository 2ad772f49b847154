// Copies bytes between the GPUs of this process: directly if one can read the other's memory,
// otherwise through pinned host memory.
#ifndef DOPPIO_PARALLEL_GPU_PEER_LINKS_CUDA_H_
#define DOPPIO_PARALLEL_GPU_PEER_LINKS_CUDA_H_

#include <memory>
#include <string>
#include <vector>

#include "parallel/gpu/pair_tree.h"
#include "parallel/gpu/side_stream_cuda.h"

namespace doppio {

// Used by one thread, which need not be one that computes.
class PeerLinks {
 public:
  static constexpr int64_t kMostBytes = int64_t{4} << 20;  // maximum size of one Copy

  // `streams` has a stream for each rank, in rank order; several ranks may share a GPU. The streams
  // must outlive the links. Tests the direct copies that the driver offers; if one fails, logs it
  // and uses host memory. If `direct` is false, always uses host memory.
  PeerLinks(const std::vector<SideStream*>& streams, bool direct);

  // Returns how close the GPUs of ranks `a` and `b` are.
  Closeness CloseTo(int a, int b) const;

  // Issues a copy from memory of rank `a` to memory of rank `b`. The copy runs after all work
  // issued to both streams so far, and before later work of b's stream. Before a's stream changes
  // `from`, it must follow b's stream.
  void Copy(int a, const void* from, int b, void* to, int64_t bytes);

 private:
  struct Place {
    SideStream* stream;
    int gpu;                               // CUDA's device index
    int board;                             // a number shared by the GPUs of one board; -1: none
    std::unique_ptr<PinnedBuffer> outbox;  // allocated on first use
    SideStream* outbox_reader = nullptr;   // reader of the last copy in outbox
  };

  bool& direct(int a, int b) const { return direct_[a * places_.size() + b]; }
  void TryDirect(int a, int b);
  std::string WhyNotDirect(int a, int b);  // tests a direct copy; returns "" if it works
  void CopyDirectly(int a, const void* from, int b, void* to, int64_t bytes);
  void CopyThroughHost(int a, const void* from, int b, void* to, int64_t bytes);

  std::vector<Place> places_;
  std::unique_ptr<bool[]> direct_;  // by (a, b): true if a copies directly to b
};

// Describes which of these GPUs the driver allows to read each other, by rank: "peer access between
// the GPUs of ranks: 0-1, 2-3; through host memory: 0-2, 0-3, 1-2, 1-3". Returns "" if there is
// nothing to say.
std::string PeerAccessText(const std::vector<Device*>& devices);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_GPU_PEER_LINKS_CUDA_H_
