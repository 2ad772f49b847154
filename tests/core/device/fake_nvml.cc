// A stand-in for NVML, the driver's management library, with two GPUs. The second GPU reports only
// its temperature. With OLD_DRIVER defined, the library lacks functions. With FAKE_NVML_FAILS in
// the environment, it finds no driver.
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kNoDriver = 9, kNotSupported = 3, kNotFound = 6;
int g_gpus[2];
int g_open = 0;

int Number(void* gpu) { return static_cast<int>(static_cast<int*>(gpu) - g_gpus); }

}  // namespace

extern "C" {

const int* FakeNvmlOpen() { return &g_open; }

int nvmlInit_v2() {
  if (std::getenv("FAKE_NVML_FAILS") != nullptr) return kNoDriver;
  ++g_open;
  return 0;
}

int nvmlShutdown() {
  --g_open;
  return 0;
}

const char* nvmlErrorString(int result) {
  return result == kNoDriver ? "Driver Not Loaded" : "another error";
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** gpu) {
  if (std::strcmp(bus_id, "0000:3B:00.0") == 0)
    *gpu = &g_gpus[0];
  else if (std::strcmp(bus_id, "0000:AF:00.0") == 0)
    *gpu = &g_gpus[1];
  else
    return kNotFound;
  return 0;
}

int nvmlSystemGetDriverVersion(char* text, unsigned int length) {
  std::snprintf(text, length, "580.65.06");
  return 0;
}

int nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = 2;
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void** gpu) {
  *gpu = &g_gpus[index];
  return 0;
}

int nvmlDeviceGetName(void* gpu, char* text, unsigned int length) {
  std::snprintf(text, length, "Paper GPU %d", Number(gpu));
  return 0;
}

int nvmlDeviceGetMemoryInfo(void* gpu, unsigned long long* total_free_used) {
  if (Number(gpu) == 1) return kNotSupported;
  total_free_used[0] = 80ull << 30;
  total_free_used[1] = 60ull << 30;
  total_free_used[2] = 20ull << 30;
  return 0;
}

int nvmlDeviceGetTemperature(void* gpu, int sensor, unsigned int* degrees) {
  if (sensor != 0) return kNotSupported;
  *degrees = Number(gpu) == 0 ? 61 : 33;
  return 0;
}

#ifndef OLD_DRIVER
int nvmlDeviceGetUtilizationRates(void* gpu, unsigned int* gpu_memory) {
  if (Number(gpu) == 1) return kNotSupported;
  gpu_memory[0] = 97;
  gpu_memory[1] = 12;
  return 0;
}

int nvmlDeviceGetPowerUsage(void* gpu, unsigned int* milliwatts) {
  if (Number(gpu) == 1) return kNotSupported;
  *milliwatts = 540400;
  return 0;
}

int nvmlDeviceGetEnforcedPowerLimit(void* gpu, unsigned int* milliwatts) {
  if (Number(gpu) == 1) return kNotSupported;
  *milliwatts = 700000;
  return 0;
}
#endif

}  // extern "C"
