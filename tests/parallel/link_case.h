// Ranks on GPUs that are joined by one of DeviceLinks.
#ifndef DOPPIO_TESTS_PARALLEL_LINK_CASE_H_
#define DOPPIO_TESTS_PARALLEL_LINK_CASE_H_

#include <functional>
#include <memory>
#include <vector>

#include "parallel/world/thread_world.h"
#include "tests/testing/test_gpu.h"

namespace doppio {

using Connect = std::function<std::unique_ptr<Communicator>(Device*, const LinkPlace&)>;

// Calls body(world, device) on `size` ranks. All of them use TestGpu(), which must not be null.
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
