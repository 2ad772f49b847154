#include "core/net/run/device_team.h"

#include <algorithm>
#include <system_error>

#include "core/base/threads.h"

namespace doppio {

// A task of a part waits for the part's previous task, and for the previous part on the same
// device. Its slot is the first one after both: task + part if each task has one device. All
// devices take their tasks in the order of slots, so the first task that has not run never waits:
// the order cannot block.
TaskOrder::TaskOrder(const std::vector<std::vector<int>>& runs, int devices, int parts)
    : tasks_(devices), parts_(parts) {
  const int tasks = static_cast<int>(runs.size());
  std::vector<std::vector<int>> slots(tasks, std::vector<int>(parts, 0));
  int last = -1;
  for (int task = 0; task < tasks; ++task) {
    const int replicas = static_cast<int>(runs[task].size());
    for (int part = 0; part < parts; ++part) {
      int& slot = slots[task][part];
      if (task > 0) slot = slots[task - 1][part] + 1;
      if (part >= replicas) slot = std::max(slot, slots[task][part - replicas] + 1);
      last = std::max(last, slot);
    }
  }
  for (int slot = 0; slot <= last; ++slot) {
    for (int part = 0; part < parts; ++part) {
      for (int task = 0; task < tasks; ++task) {
        if (slots[task][part] == slot)
          tasks_[runs[task][part % runs[task].size()]].push_back({task, part});
      }
    }
  }
}

DeviceTeam::DeviceTeam(const std::vector<Device*>& devices) : devices_(devices) {
  try {
    for (size_t i = 0; i < devices.size(); ++i)
      threads_.emplace_back([this, i] { Work(static_cast<int>(i)); });
  } catch (const std::system_error&) {  // no thread is available
    Stop();
    throw;
  }
}

DeviceTeam::~DeviceTeam() { Stop(); }

void DeviceTeam::Stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stops_ = true;
  }
  begins_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void DeviceTeam::Run(const TaskOrder& order, const std::function<void(int, int)>& run) {
  std::unique_lock<std::mutex> lock(mutex_);
  order_ = &order;
  run_ = &run;
  done_.assign(order.parts(), 0);
  failure_ = nullptr;
  running_ = static_cast<int>(threads_.size());
  ++round_;
  begins_.notify_all();
  ends_.wait(lock, [&] { return running_ == 0; });
  if (failure_ != nullptr) std::rethrow_exception(failure_);
}

void DeviceTeam::Work(int device) {
  const CpuShare share = devices_[device]->properties.cpu_share;
  if (share.parts == 1) UseAllCores();
  const ComputeShare compute(share.part, share.parts);
  const ThreadCount threads(devices_[device]->properties.threads);
  for (int64_t seen = 0;;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      begins_.wait(lock, [&] { return stops_ || round_ != seen; });
      if (stops_) return;
      seen = round_;
    }
    RunTasks(device);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--running_ == 0) ends_.notify_all();
  }
}

void DeviceTeam::RunTasks(int device) {
  for (const TaskOrder::Task& next : order_->OfDevice(device)) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      moves_.wait(lock, [&] { return failure_ != nullptr || done_[next.part] == next.task; });
      if (failure_ != nullptr) return;
    }
    std::exception_ptr failure;
    try {
      (*run_)(next.task, next.part);
      // The device of the next task reads the results.
      if (devices_[device]->properties.asynchronous) devices_[device]->Synchronize();
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    ++done_[next.part];
    if (failure_ == nullptr) failure_ = failure;
    moves_.notify_all();
    if (failure_ != nullptr) return;
  }
}

}  // namespace doppio
