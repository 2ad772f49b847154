// Ranks on GPUs, or on the host in their place, that a kind of DeviceLinks joins.
#ifndef DOPPIO_TESTS_PARALLEL_LINK_CASE_H_
#define DOPPIO_TESTS_PARALLEL_LINK_CASE_H_

#include <functional>
#include <memory>
#include <vector>

#include "parallel/thread_world.h"
#include "tests/testing/test_gpu.h"

namespace doppio {

using Connect = std::function<std::unique_ptr<Communicator>(Device*, const LinkPlace&)>;

// body(world, device) by `size` ranks, all on the GPU of DOPPIO_TEST_GPU where it is set.
template <class F>
void OnLinkedRanks(int size, const Connect& connect, const F& body) {
  std::vector<std::unique_ptr<Device>> devices;
  for (int r = 0; r < size; ++r) devices.push_back(TestGpu());
  const auto device = [&](int rank) { return devices[static_cast<size_t>(rank)].get(); };
  RunThreadWorld(
      size, {}, [&](World& world) { body(world, device(world.rank())); },
      [&](const LinkPlace& place) { return connect(device(place.control->rank()), place); });
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_PARALLEL_LINK_CASE_H_
