#include "parallel/reduce/task_thread.h"

#include <utility>

#include "core/base/threads.h"

namespace doppio {

TaskThread::TaskThread() : thread_([this] { Run(); }) {}

TaskThread::~TaskThread() {
  tasks_.Close();
  thread_.join();
}

void TaskThread::Give(std::function<void()> task) {
  ++given_;
  tasks_.Push(std::move(task));
}

void TaskThread::AwaitAllBut(int64_t left) {
  std::unique_lock<std::mutex> lock(mutex_);
  done_changed_.wait(lock, [&] { return done_ >= given_ - left || thrown_; });
  if (thrown_) std::rethrow_exception(thrown_);
}

void TaskThread::Settle() {
  std::unique_lock<std::mutex> lock(mutex_);
  done_changed_.wait(lock, [&] { return done_ == given_; });
  thrown_ = nullptr;
}

void TaskThread::Run() {
  UseAllCores();
  std::function<void()> task;
  while (tasks_.Pop(&task)) {
    std::exception_ptr thrown;
    try {
      if (!Failed()) task();
    } catch (...) {
      thrown = std::current_exception();
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    if (thrown) thrown_ = thrown;
    ++done_;
    done_changed_.notify_all();
  }
}

bool TaskThread::Failed() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return thrown_ != nullptr;
}

}  // namespace doppio
