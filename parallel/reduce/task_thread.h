// A thread that runs tasks in their order, beside the thread that gives them.
#ifndef DOPPIO_PARALLEL_REDUCE_TASK_THREAD_H_
#define DOPPIO_PARALLEL_REDUCE_TASK_THREAD_H_

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "core/base/queue.h"

namespace doppio {

class TaskThread {
 public:
  TaskThread();
  // Ends the thread after the tasks that it has been given.
  ~TaskThread();
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  // Gives the thread a task, which must not outlive what it refers to. After a task has thrown,
  // later tasks do not run.
  void Give(std::function<void()> task);
  // Blocks until all but the last `left` tasks have ended. Rethrows what one of them has thrown.
  void AwaitAllBut(int64_t left);
  // Blocks until no task runs, whatever they have thrown, and forgets it.
  void Settle();

 private:
  void Run();
  bool Failed();

  BoundedQueue<std::function<void()>> tasks_{4};
  int64_t given_ = 0;  // used by the giving thread only
  std::mutex mutex_;
  std::condition_variable done_changed_;
  int64_t done_ = 0;           // guarded by mutex_
  std::exception_ptr thrown_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_REDUCE_TASK_THREAD_H_
