// Tests Doppio's NCCL link on the double, with each rank on a separate GPU.
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "core/base/threads.h"
#include "core/device/kind_cuda.h"
#include "parallel/gpu/device_link.h"
#include "parallel/world/threads.h"
#include "tests/double/machine/counters.h"
#include "tests/double/machine/settings.h"
#include "tests/double/machine/streams.h"
#include "tests/double/nccl/functions.h"
#include "tests/parallel/communicator_case.h"
#include "tests/testing/scoped_variable.h"

namespace doppio {
namespace {

using gpu_double::Settings;
using gpu_double::TheSettings;

// The environment may select an old library, which the process opens only once.
const bool g_old = TheSettings().nccl_fail == "old";

void Begin(uint64_t seed, const std::string& order, const std::string& nccl_fail = "") {
  Settings settings;
  settings.seed = seed;
  settings.order = order;
  settings.nccl_fail = g_old && nccl_fail.empty() ? "old" : nccl_fail;
  gpu_double::Use(settings);
  gpu_double::ResetMachine();
}

using Body = std::function<void(Communicator*, Device*)>;

// Runs `body` on each rank. Returns the message of each rank's exception.
std::vector<std::string> OnRanks(int size, const Body& body) {
  const auto control = MakeThreadTeam(size);
  const auto meeting = std::make_shared<Meeting>(size);
  std::vector<std::string> thrown(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      const size_t r = static_cast<size_t>(rank);
      const auto device = DeviceBackends::Get().Find(kCudaKind)->make(rank);
      try {
        const auto end = FindDeviceLink(kCudaKind, "nccl")
                             ->connect(device.get(), {control[r].get(), nullptr, meeting, {}});
        body(end.get(), device.get());
      } catch (const Error& e) {
        thrown[r] = e.message();
        const std::string why = "rank " + std::to_string(rank) + " has failed: " + e.message();
        meeting->Abort(why);
        control[r]->Abort(why);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(gpu_double::LiveCommunicators(), 0);
  return thrown;
}

TEST(NcclLink, SumsAndBroadcastsInAnyOrder) {
  for (const char* order : {"late", "early", "random"}) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      for (int size : {1, 2, 4}) {
        Begin(seed, order);
        const int aborted = gpu_double::AbortedCommunicators();
        const auto thrown = OnRanks(size, [](Communicator* end, Device* device) {
          for (int64_t count : {0, 1, 3, 1000}) {
            ExpectSums<float>(end, device, DType::kFloat32, count);
            ExpectSums<Half>(end, device, DType::kFloat16, count);
            ExpectSums<BFloat16>(end, device, DType::kBFloat16, count);
          }
          std::vector<int64_t> data(100, end->rank());
          const int root = end->size() - 1;
          OnDevice(device, &data, [&](void* memory) { end->Broadcast(memory, 800, root); });
          EXPECT_EQ(data, std::vector<int64_t>(100, root));
          end->Barrier();
        });
        EXPECT_EQ(thrown, std::vector<std::string>(static_cast<size_t>(size)));
        EXPECT_EQ(gpu_double::AbortedCommunicators(), aborted);
      }
    }
  }
}

TEST(NcclLink, JoinsOnAllCores) {
  Begin(1, "random");
  OnRanks(1, [](Communicator*, Device*) {});  // so that the cores of the process are known
  const auto control = MakeThreadTeam(1);
  std::thread([&] {
    cpu_set_t one, after;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    const auto device = DeviceBackends::Get().Find(kCudaKind)->make(0);
    const auto end =
        FindDeviceLink(kCudaKind, "nccl")
            ->connect(device.get(), {control[0].get(), nullptr, std::make_shared<Meeting>(1), {}});
    EXPECT_EQ(gpu_double::CoresAtLastJoin(), ProcessCores());
    ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&one, &after));
  }).join();
}

TEST(NcclLink, EndsWithAMessageWhenARankNeverJoins) {
  if (g_old) GTEST_SKIP() << "an old library waits without a limit";
  Begin(1, "random", "join");
  const ScopedVariable timeout("DOPPIO_NCCL_TIMEOUT", "0.3");
  const auto thrown = OnRanks(3, [](Communicator*, Device*) { ADD_FAILURE() << "all joined"; });
  int late = 0;
  for (const std::string& message : thrown) {
    EXPECT_NE(message.find("NCCL has not completed joining the ranks after 0.3 s: rank "),
              std::string::npos)
        << message;
    late += message.find("has failed") == std::string::npos ? 1 : 0;
  }
  EXPECT_GE(late, 1);
}

TEST(NcclLink, EndsAllRanksWhenASumFails) {
  if (g_old) GTEST_SKIP() << "the library of this process fails in another way";
  for (const char* order : {"late", "early", "random"}) {
    Begin(2, order, "sum");
    const auto thrown = OnRanks(2, [](Communicator* end, Device* device) {
      const Buffer memory(device, 64);
      device->CopyFromHost(memory.data(), std::vector<char>(64).data(), 64);
      for (int i = 0; i < 6; ++i) end->AllReduce(memory.data(), 16, DType::kFloat32);
      ADD_FAILURE() << "no error";
    });
    for (const std::string& message : thrown)
      EXPECT_NE(message.find("NCCL failed while summing on"), std::string::npos) << message;
  }
}

// The ranks that wait in a sum must leave it before their memory is freed.
TEST(NcclLink, EndsAllRanksWhenOneFailsBetweenSums) {
  for (const char* order : {"late", "early", "random"}) {
    Begin(3, order);
    const int aborted = gpu_double::AbortedCommunicators();
    const auto thrown = OnRanks(3, [](Communicator* end, Device* device) {
      const Buffer memory(device, 64);
      device->CopyFromHost(memory.data(), std::vector<char>(64).data(), 64);
      end->AllReduce(memory.data(), 16, DType::kFloat32);
      if (end->rank() == 1) throw FileError("record 7 is damaged");
      end->AllReduce(memory.data(), 16, DType::kFloat32);
    });
    EXPECT_EQ(thrown[1], "record 7 is damaged");
    for (int rank : {0, 2}) {
      EXPECT_NE(thrown[static_cast<size_t>(rank)].find("record 7 is damaged"), std::string::npos);
    }
    EXPECT_EQ(gpu_double::AbortedCommunicators(), aborted + 3);
  }
}

TEST(NcclLink, EndsAllRanksWhenAGpuIsLost) {
  if (g_old) GTEST_SKIP() << "an old library waits without a limit for a rank that failed";
  for (int64_t lost = 1; lost <= 60; lost += 3) {
    Settings settings;
    settings.seed = static_cast<uint64_t>(lost);
    settings.lose_device = lost;
    gpu_double::Use(settings);
    gpu_double::ResetMachine();
    const auto thrown = OnRanks(2, [](Communicator* end, Device* device) {
      const Buffer memory(device, 64);
      for (int i = 0; i < 20; ++i) {
        device->CopyFromHost(memory.data(), std::vector<char>(64).data(), 64);
        end->AllReduce(memory.data(), 16, DType::kFloat32);
      }
    });
    EXPECT_FALSE(thrown[0].empty() || thrown[1].empty()) << lost;
  }
}

}  // namespace
}  // namespace doppio
