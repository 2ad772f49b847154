// How bytes get from one GPU of this process to another: copied directly where one reads the
// other's memory, through pinned host memory elsewhere.
#ifndef DOPPIO_PARALLEL_GPU_PEER_LINKS_CUDA_H_
#define DOPPIO_PARALLEL_GPU_PEER_LINKS_CUDA_H_

#include <memory>
#include <string>
#include <vector>

#include "parallel/gpu/pair_tree.h"
#include "parallel/gpu/side_stream_cuda.h"

namespace doppio {

// For one thread, which may be another than those that compute.
class PeerLinks {
 public:
  static constexpr int64_t kMostBytes = int64_t{4} << 20;  // of one Copy

  // A stream for each rank, in their order; several ranks may be on one GPU. They outlive the
  // links. Direct ways that the driver offers are tried first; where one goes wrong the log says
  // so, and host memory is used. `direct` false: host memory everywhere.
  PeerLinks(const std::vector<SideStream*>& streams, bool direct);

  Closeness CloseTo(int a, int b) const;

  // From memory of rank `a` to memory of rank `b`: after what both streams have been asked so far,
  // before what they are asked next, but that a's may go on to change `from` only where it follows
  // b's.
  void Copy(int a, const void* from, int b, void* to, int64_t bytes);

 private:
  struct Place {
    SideStream* stream;
    int gpu;                               // as CUDA counts
    int board;                             // a number that GPUs of one board share; -1: none
    std::unique_ptr<PinnedBuffer> outbox;  // made when it is first needed
    SideStream* outbox_reader = nullptr;   // of the last copy
  };

  bool& direct(int a, int b) {
    return direct_[static_cast<size_t>(a) * places_.size() + static_cast<size_t>(b)];
  }
  void TryDirect(int a, int b);
  std::string WhyNotDirect(int a, int b);  // by trying it; "" where it works
  void CopyDirectly(int a, const void* from, int b, void* to, int64_t bytes);
  void CopyThroughHost(int a, const void* from, int b, void* to, int64_t bytes);

  std::vector<Place> places_;
  std::unique_ptr<bool[]> direct_;  // from a to b
};

// "peer access: 0-1, 2-3; through host memory: 0-2, 0-3, 1-2, 1-3": which of these GPUs the driver
// lets read each other, by rank.
// "" where there is nothing to tell.
std::string PeerAccessText(const std::vector<Device*>& devices);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_GPU_PEER_LINKS_CUDA_H_
