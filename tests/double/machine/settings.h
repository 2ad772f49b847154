// Settings of the double. They are read once from the environment, or set by a test before the
// first call.
#ifndef DOPPIO_TESTS_DOUBLE_MACHINE_SETTINGS_H_
#define DOPPIO_TESTS_DOUBLE_MACHINE_SETTINGS_H_

#include <cstdint>
#include <string>

namespace doppio::gpu_double {

constexpr int kMostDevices = 16;
constexpr int64_t kMostMemoryMib = 32768;

// Settings such as DOPPIO_DOUBLE="seed=7 devices=4 order=late". The words are separated by blanks
// and have the form NAME=VALUE. Fault("settings") for an unknown name.
struct Settings {
  uint64_t seed = 1;  // seed=: for all random decisions
  int devices = 4;    // devices=: number of GPUs
  // order=: late (work runs when a thread waits for it), early (work runs at once), or random.
  std::string order = "random";
  // peers=: all, none, pairs (0-1, 2-3), or broken (reported as possible, but
  // cudaDeviceEnablePeerAccess fails).
  std::string peers = "all";
  int64_t memory_mib = 4096;  // memory=: of each device, in MiB
  int capability = 90;        // capability=: 80, 90, 100
  // fail_malloc=N: cudaMalloc number N of the process reports no memory. 0: never.
  int64_t fail_malloc = 0;
  // fail_launch=N: kernel launch number N fails (cudaErrorLaunchFailure, sticky, visible at the
  // next wait).
  int64_t fail_launch = 0;
  // lose_device=N: when work number N is enqueued, its device is lost. All later calls return
  // cudaErrorDevicesUnavailable or a similar error.
  int64_t lose_device = 0;
  // slow_device=D: work of device D runs only when nothing else can run.
  int64_t slow_device = -1;
  // refuse=0|1: libraries answer "not supported" at random if the caller has a fallback.
  bool refuse = true;
  // nccl_fail=: "", join (one rank never joins), sum (a sum reports an asynchronous error), or old
  // (version 2.10, without newer functions).
  std::string nccl_fail;
  // cudnn_fail=N: execution number N of an engine fails at run time.
  int cudnn_fail = 0;
  int64_t slow_plans = 0;  // slow_plans=MS: a plan of an engine that compiles takes MS ms to make
  // clock=: real, or bytes (between two events, 1 ns passes per byte that work accesses).
  std::string clock = "real";
  std::string counters;  // counters=FILE: the journal of the process (journal.h)
  std::string plant;     // plant=NAME: a planted mistake (Planted)
};

// Parses settings. Settings that are not named keep their defaults. Fault("settings") for an
// unknown name, a name set twice, or a value out of range.
Settings ParseSettings(const std::string& text);

// Returns the settings of the process. The first call reads the environment.
const Settings& TheSettings();
// Replaces the settings and restarts the random numbers from the seed. For tests in the process;
// must be called before any CUDA object exists.
void Use(const Settings& settings);

// Returns true if the mistake `name` is planted (plant=NAME). Only the double and its tests call
// this function, never Doppio's own code.
bool Planted(const char* name);

// Returns a number in [0, below) from the process's random number generator. Thread-safe.
uint64_t Random(uint64_t below);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_SETTINGS_H_
