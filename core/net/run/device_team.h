// Threads that compute with several devices at the same time, one for each device.
#ifndef DOPPIO_CORE_NET_RUN_DEVICE_TEAM_H_
#define DOPPIO_CORE_NET_RUN_DEVICE_TEAM_H_

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "core/device/device.h"

namespace doppio {

// Tasks 0, 1, ... of each of several parts of the work, in the order in which each device runs its
// own. A task begins when the previous task of its part is complete. With t tasks of equal length,
// each on one device of its own, the last of p parts is complete after t + p - 1 of these lengths.
class TaskOrder {
 public:
  struct Task {
    int task = 0, part = 0;
  };

  TaskOrder() = default;
  // `runs[task]` has the indices of the devices that run the task: number p % size runs part p.
  // Each device runs the parts of a task in their order.
  TaskOrder(const std::vector<std::vector<int>>& runs, int devices, int parts);

  const std::vector<Task>& OfDevice(int device) const { return tasks_[device]; }
  int parts() const { return parts_; }

 private:
  std::vector<std::vector<Task>> tasks_;
  int parts_ = 0;
};

// Each thread has its device's share of the compute threads.
class DeviceTeam {
 public:
  // Starts the threads. The devices must outlive the team.
  explicit DeviceTeam(const std::vector<Device*>& devices);
  ~DeviceTeam();
  DeviceTeam(const DeviceTeam&) = delete;
  DeviceTeam& operator=(const DeviceTeam&) = delete;

  // Calls run(task, part) for all tasks, each on the thread of its device, and returns when the
  // devices have finished their work. After an exception, starts no further task, and rethrows the
  // first one.
  void Run(const TaskOrder& order, const std::function<void(int task, int part)>& run);

 private:
  void Stop();
  void Work(int device);
  void RunTasks(int device);

  const std::vector<Device*> devices_;
  std::mutex mutex_;
  std::condition_variable begins_, moves_, ends_;
  // Guarded by mutex_.
  const TaskOrder* order_ = nullptr;
  const std::function<void(int, int)>* run_ = nullptr;
  int64_t round_ = 0;
  int running_ = 0;
  bool stops_ = false;
  std::vector<int> done_;  // per part: its complete tasks
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_RUN_DEVICE_TEAM_H_
