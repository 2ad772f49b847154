#include "tools/sweep/sweep_workers.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/base/error.h"
#include "core/base/threads.h"
#include "tools/cli/end_process.h"

extern char** environ;

namespace doppio {
namespace {

constexpr int kCannotRun = 127;

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> EnvironmentOf(const WorkerSlot& slot) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.push_back(*variable);
  if (std::getenv("OMP_NUM_THREADS") == nullptr)
    variables.push_back("OMP_NUM_THREADS=" + std::to_string(slot.threads));
  return variables;
}

cpu_set_t SetOf(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(static_cast<size_t>(core), &set);
  return set;
}

}  // namespace

std::vector<WorkerSlot> CpuSlots(const std::vector<int>& cores, int children) {
  std::vector<WorkerSlot> slots(children);
  const size_t count = cores.size(), all = slots.size();
  for (size_t i = 0; i < all && all <= count; ++i) {
    slots[i].cores.assign(cores.begin() + static_cast<int64_t>(count * i / all),
                          cores.begin() + static_cast<int64_t>(count * (i + 1) / all));
    slots[i].threads = static_cast<int>(slots[i].cores.size());
  }
  return slots;
}

std::vector<WorkerSlot> GpuSlots(const std::vector<int>& cores, const std::vector<int>& gpus,
                                 int gpus_each) {
  std::vector<WorkerSlot> slots = CpuSlots(cores, static_cast<int>(gpus.size()) / gpus_each);
  size_t next = 0;
  for (WorkerSlot& slot : slots) {
    for (int i = 0; i < gpus_each; ++i)
      slot.gpus += (i > 0 ? "," : "") + std::to_string(gpus[next++]);
  }
  return slots;
}

std::vector<int> AllCores() {
  // The main thread may be pinned to one core; allow all cores again before reading the set.
  UseAllCores();
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<size_t>(core), &set)) cores.push_back(core);
  }
  return cores;
}

Workers::Workers(std::vector<WorkerSlot> slots)
    : slots_(std::move(slots)), children_(slots_.size(), 0) {}

int Workers::FreeSlot() const {
  const auto found = std::find(children_.begin(), children_.end(), 0);
  return found == children_.end() ? -1 : static_cast<int>(found - children_.begin());
}

bool Workers::Idle() const {
  return std::all_of(children_.begin(), children_.end(), [](pid_t child) { return child == 0; });
}

void Workers::Start(int slot, const WorkerCommand& command) {
  const WorkerSlot& share = slots_[slot];
  const UniqueFd log(open(command.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!log.open()) throw FileError("cannot write ", command.log, " (", std::strerror(errno), ")");
  // Allocates all memory before the fork: another thread may hold the allocator's locks at that
  // time.
  const std::vector<std::string> environment = EnvironmentOf(share);
  const std::vector<char*> variables = Pointers(environment),
                           arguments = Pointers(command.arguments);
  const cpu_set_t cores = SetOf(share.cores);
  const pid_t parent = getpid();
  // Blocks signals: a signal that arrives before execve() would be lost in this program's handlers.
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_BLOCK, &every, &before);
  const pid_t child = fork();
  const int why = errno;
  if (child != 0) pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) throw CannotStart("a process", why);
  if (child == 0) {
    // In its own process group, the child does not receive Ctrl-C from a terminal. This process
    // receives it and stops its children.
    setpgid(0, 0);
    for (const int caught : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2}) signal(caught, SIG_DFL);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) EndProcessNow(kCannotRun);
    if (!share.cores.empty()) sched_setaffinity(0, sizeof cores, &cores);
    const int nothing = open("/dev/null", O_RDONLY);
    if (nothing < 0 || dup2(nothing, 0) < 0 || dup2(log.get(), 1) < 0 || dup2(log.get(), 2) < 0)
      EndProcessNow(kCannotRun);
    if (!command.cwd.empty() && chdir(command.cwd.c_str()) != 0) EndProcessNow(kCannotRun);
    execve(arguments[0], arguments.data(), variables.data());
    EndProcessNow(kCannotRun);
  }
  children_[slot] = child;
}

std::vector<Workers::Ended> Workers::Poll() {
  std::vector<Ended> ended;
  for (size_t slot = 0; slot < children_.size(); ++slot) {
    int status = 0;
    if (children_[slot] == 0 || waitpid(children_[slot], &status, WNOHANG) != children_[slot])
      continue;
    children_[slot] = 0;
    ended.push_back(
        {static_cast<int>(slot), WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)});
  }
  return ended;
}

void Workers::Stop(int slot) {
  const pid_t child = children_[slot];
  if (child != 0) kill(child, SIGUSR1);
}

void Workers::StopAll() {
  for (size_t slot = 0; slot < children_.size(); ++slot) Stop(static_cast<int>(slot));
}

}  // namespace doppio
