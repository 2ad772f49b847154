// What the double is asked to be: read once from the environment, or set by a test before the first
// call.
#ifndef DOPPIO_TESTS_DOUBLE_MACHINE_SETTINGS_H_
#define DOPPIO_TESTS_DOUBLE_MACHINE_SETTINGS_H_

#include <cstdint>
#include <string>

namespace doppio::gpu_double {

constexpr int kMostDevices = 16;
constexpr int64_t kMostMemoryMib = 32768;

// DOPPIO_DOUBLE="seed=7 devices=4 order=late": words separated by blanks, NAME=VALUE each; an
// unknown name is a Fault("settings").
struct Settings {
  uint64_t seed = 1;  // seed=: of every random decision
  int devices = 4;    // devices=: GPUs that the machine shows
  std::string order =
      "random";  // order=: late (work runs when somebody waits for it), early (at once), random
  std::string peers = "all";  // peers=: all, none, pairs (0-1, 2-3), or broken (said to be
                              // possible, cudaDeviceEnablePeerAccess fails)
  int64_t memory_mib = 4096;  // memory=: of each device, in MiB
  int capability = 90;        // capability=: 80, 90, 100
  int64_t fail_malloc =
      0;  // fail_malloc=N: the N-th cudaMalloc of the process has no memory; 0: none
  int64_t fail_launch = 0;   // fail_launch=N: the N-th kernel launch fails (cudaErrorLaunchFailure,
                             // sticky, seen at the next wait)
  int64_t lose_device = 0;   // lose_device=N: the device of the N-th enqueued work is lost:
                             // cudaErrorDevicesUnavailable... from then on
  int64_t slow_device = -1;  // slow_device=D: work of device D runs only when nothing else can
  bool refuse =
      true;  // refuse=0|1: libraries answer "not supported" at random where a fall-back exists
  std::string nccl_fail;  // nccl_fail=: "", join (one rank never joins), sum (a sum reports an
                          // asynchronous error), old (2.10, without newer functions)
  int cudnn_fail = 0;     // cudnn_fail=N: the N-th execution of an engine fails at run time
  std::string counters;   // counters=FILE: the journal of the process (journal.h)
  std::string plant;      // plant=NAME: a mistake that is planted (Planted)
};

// Reads the words; what is not named keeps its default. Fault("settings") at an unknown name, a
// name set twice, or a value out of its range.
Settings ParseSettings(const std::string& text);

// Of the process. The first call reads the environment.
const Settings& TheSettings();
// For tests in the process: replaces the settings and starts the random numbers anew from the seed;
// before any CUDA object exists.
void Use(const Settings& settings);

// Whether the mistake `name` is planted (plant=NAME); product code never asks, the double and its
// tests do.
bool Planted(const char* name);

// A number in [0, below), from the process's stream of random numbers. Thread-safe.
uint64_t Random(uint64_t below);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_SETTINGS_H_
