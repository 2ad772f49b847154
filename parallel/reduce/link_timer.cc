#include "parallel/reduce/link_timer.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/base/host_name.h"
#include "core/base/threads.h"

namespace doppio {
namespace {

void Sum(Communicator* bulk, void* data, int64_t bytes) {
  bulk->ExchangeAfterCompute(-1);
  bulk->AllReduce(data, bytes / static_cast<int64_t>(sizeof(float)), DType::kFloat32);
}

double MedianMs(Communicator* bulk, void* data, int64_t bytes, int times, const TimeSource& clock) {
  std::vector<double> ms;
  bulk->Barrier();
  for (int i = -1; i < times; ++i) {  // the first sum sets things up and is not counted
    const double begun = clock.Now();
    Sum(bulk, data, bytes);
    if (i >= 0) ms.push_back(1e3 * (clock.Now() - begun));
  }
  std::nth_element(ms.begin(), ms.begin() + times / 2, ms.end());
  return ms[times / 2];
}

SumTimes TimeSums(Communicator* bulk, void* data, int64_t large_bytes, const TimeSource& clock) {
  constexpr int kSmall = 200, kLarge = 15;
  SumTimes times;
  times.small_ms = MedianMs(bulk, data, sizeof(float), kSmall, clock);
  times.large_ms = MedianMs(bulk, data, large_bytes, kLarge, clock);
  return times;
}

}  // namespace

SumTimes TimeSums(Communicator& bulk, Device* device, int64_t large_bytes) {
  const Buffer memory(device, large_bytes);
  device->Synchronize();  // waits until the memory is zeroed
  return TimeSums(&bulk, memory.data(), large_bytes, *MachineTime());
}

Link MeasureLink(const World& world, Device* device, Topology topology, bool one_node,
                 int64_t bytes, const Compute& compute, const TimeSource* clock) {
  constexpr double kBesideMs = 4000;
  // Sums alternate between several places, because the buckets of a training are not in any cache.
  constexpr int64_t kPlaces = 8;
  bytes = std::max<int64_t>(bytes / 4 * 4, 4096);
  const Buffer memory(device, kPlaces * bytes);
  device->Synchronize();  // waits until the memory is zeroed
  Communicator& bulk = world.bulk();
  const auto [small_ms, large_ms] = TimeSums(&bulk, memory.data(), bytes, *clock);

  // The cost of the sum for a link on which a message takes 1 us, a byte takes 1 ns, and each byte
  // delays computing by 1 ns.
  const Cluster unit{topology, {1, 1, 1e3}, {1, 1, 1e3}, one_node ? world.size() : 1};
  const AllReduceCost cost = CostOfAllReduce(unit, world.size(), static_cast<double>(bytes));
  Link link;
  link.latency_us = small_ms / cost.latency_ms;
  link.gbytes_per_s = (cost.inside_ms + cost.across_ms) / std::max(large_ms - small_ms, 1e-6);

  double times = std::max(1.0, kBesideMs / large_ms);
  world.control().Broadcast(&times, sizeof times, 0);
  std::atomic<bool> going{true};
  std::exception_ptr failure;
  std::thread exchange([&] {
    UseAllCores();  // as in the thread that reduces gradients
    try {
      bulk.Barrier();
      for (int i = 0; i < static_cast<int>(times); ++i)
        Sum(&bulk, static_cast<char*>(memory.data()) + i % kPlaces * bytes, bytes);
    } catch (...) {
      failure = std::current_exception();
    }
    going = false;
  });
  const double begun = clock->Now();
  const double alone_ms = compute([&] { return going.load(); });
  const double beside_ms = 1e3 * (clock->Now() - begun);
  exchange.join();
  if (failure) std::rethrow_exception(failure);
  double lost = std::max(0.0, beside_ms - alone_ms) / (cost.held_up_ms * std::floor(times)) * 1e3;
  world.control().AllReduce(&lost, 1, DType::kFloat64);
  link.held_up_ms_per_gbyte = lost / world.size();
  return link;
}

int CountHosts(const World& world) {
  std::vector<double> hosts(world.size());
  // Keep 53 bits, which a double holds exactly.
  hosts[world.rank()] = static_cast<double>(std::hash<std::string>()(HostName()) >> 11);
  world.control().AllReduce(hosts.data(), static_cast<int64_t>(hosts.size()), DType::kFloat64);
  return static_cast<int>(std::set<double>(hosts.begin(), hosts.end()).size());
}

}  // namespace doppio
