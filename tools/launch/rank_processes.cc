#include "tools/launch/rank_processes.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <iostream>
#include <optional>

#include "core/base/error.h"
#include "core/base/unique_fd.h"
#include "tools/cli/signal_state.h"

namespace doppio {
namespace {

using Clock = std::chrono::steady_clock;

// Ranks that fail together must not be started again because one of them still runs.
constexpr std::chrono::seconds kRestartDelay(1);

// The signals that ranks get, and their names in the script.
constexpr std::array<std::pair<int, const char*>, 5> kPassedSignals = {
    {{SIGINT, "INT"}, {SIGTERM, "TERM"}, {SIGHUP, "HUP"}, {SIGUSR1, "USR1"}, {SIGUSR2, "USR2"}}};

// Catches the signals above and SIGCHLD while it lives. Handlers, because libraries have threads
// that block no signal. At most one object may exist at a time.
class CaughtSignals {
 public:
  CaughtSignals() {
    DOPPIO_CHECK(pipe2(ends_, O_CLOEXEC | O_NONBLOCK) == 0, "pipe2");
    SignalState::Get().caught = ends_[1];
    struct sigaction action = {};
    action.sa_handler = &Note;
    action.sa_flags = SA_RESTART;
    sigaction(SIGCHLD, &action, nullptr);
    for (const auto& [signal, name] : kPassedSignals) sigaction(signal, &action, nullptr);
  }
  ~CaughtSignals() {
    std::signal(SIGCHLD, SIG_DFL);
    for (const auto& [signal, name] : kPassedSignals) std::signal(signal, SIG_DFL);
    SignalState::Get().caught = -1;
    for (const int end : ends_) close(end);
  }
  CaughtSignals(const CaughtSignals&) = delete;
  CaughtSignals& operator=(const CaughtSignals&) = delete;

  // Is readable when there is a signal.
  int fd() const { return ends_[0]; }
  // Returns the next signal, or 0 if there is none.
  int Next() const {
    unsigned char signal = 0;
    return read(ends_[0], &signal, 1) == 1 ? signal : 0;
  }

 private:
  static void Note(int signal) {
    const int before = errno;
    const auto byte = static_cast<unsigned char>(signal);
    [[maybe_unused]] const ssize_t written = write(SignalState::Get().caught, &byte, 1);
    errno = before;
  }

  int ends_[2] = {-1, -1};
};

// One end of a pipe to a rank, and the bytes of a line that is not yet whole.
struct OutputPipe {
  int fd = -1;
  std::ostream* to = nullptr;
  std::string line;
};

struct RankProcess {
  pid_t pid = 0;
  int input = -1;  // for names of signals
  std::array<OutputPipe, 2> outputs;
  bool running = false;
  int restarts = 0;                             // so far
  std::optional<Clock::time_point> restart_at;  // set while the rank waits to be started again
};

std::array<int, 2> MakePipe() {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw FileError("cannot make a pipe: ", std::strerror(errno));
  return ends;
}

class RankGroup {
 public:
  RankGroup(const std::vector<RankStart>& starts, const RankProcessesOptions& options)
      : starts_(starts), options_(options), ranks_(starts.size()) {}
  ~RankGroup() {
    // Ranks whose input ends get SIGTERM, see rank_script.h.
    for (RankProcess& rank : ranks_) CloseEnds(&rank);
  }
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;

  int Run() {
    for (size_t i = 0; i < ranks_.size(); ++i) Start(i, starts_[i].first);
    while (running_ > 0) {
      constexpr int kMilliseconds = 200;  // how often deadlines are checked
      PassOnOutput(kMilliseconds);
      while (const int signal = signals_.Next()) Handle(signal);
      Reap();
      StartAgain();
      EndTheRest();
    }
    // The rest of what the ranks have written. Their children may keep the pipes open.
    while (PassOnOutput(0)) {
    }
    return code_;
  }

 private:
  void Start(size_t index, const ScriptStart& start) {
    RankProcess& rank = ranks_[index];
    const std::array<int, 2> input = MakePipe(), out = MakePipe(), err = MakePipe();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
    // A group of its own, so that Ctrl-C reaches the ranks only through this process.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    // RunRanks ignores SIGPIPE, which children would inherit.
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    std::vector<char*> words;
    for (const std::string& word : start.words) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    const int failed =
        posix_spawnp(&rank.pid, words[0], &actions, &attributes, words.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    for (const int fd : {input[0], out[1], err[1]}) close(fd);
    rank.input = input[1];
    rank.outputs = {{{out[0], &std::cout, ""}, {err[0], &std::cerr, ""}}};
    if (failed != 0) throw CannotStart("'" + start.words[0] + "'", failed);
    rank.running = true;
    ++running_;
    Send(start.script, &rank);
  }

  // Writes to the rank's script. A rank that has ended reads nothing.
  static void Send(const std::string& text, RankProcess* rank) { WriteAll(rank->input, text); }

  void SendAll(const std::string& text) {
    for (RankProcess& rank : ranks_) {
      if (rank.running) Send(text, &rank);
    }
  }

  // Waits for output or a signal, and passes the output on. Returns false if there was none.
  bool PassOnOutput(int milliseconds) {
    std::vector<pollfd> polled = {{signals_.fd(), POLLIN, 0}};
    std::vector<std::pair<size_t, size_t>> places;
    for (size_t i = 0; i < ranks_.size(); ++i) {
      for (size_t j = 0; j < 2; ++j) {
        if (ranks_[i].outputs[j].fd < 0) continue;
        polled.push_back({ranks_[i].outputs[j].fd, POLLIN, 0});
        places.push_back({i, j});
      }
    }
    bool any = false;
    if (poll(polled.data(), polled.size(), milliseconds) < 0) return any;
    for (size_t i = 0; i < places.size(); ++i) {
      if (polled[i + 1].revents == 0) continue;
      PassOn(places[i].first, &ranks_[places[i].first].outputs[places[i].second]);
      any = true;
    }
    return any;
  }

  // Passes whole lines on, and the rest of a line at the end.
  void PassOn(size_t rank, OutputPipe* output) {
    char bytes[4096];
    const ssize_t count = read(output->fd, bytes, sizeof bytes);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count > 0) output->line.append(bytes, static_cast<size_t>(count));
    if (count <= 0) {
      close(output->fd);
      output->fd = -1;
      if (!output->line.empty()) output->line += '\n';
    }
    size_t begin = 0;
    for (size_t end; (end = output->line.find('\n', begin)) != std::string::npos; begin = end + 1) {
      if (options_.tag) *output->to << "[" << rank << "] ";
      *output->to << output->line.substr(begin, end + 1 - begin);
    }
    output->line.erase(0, begin);
    output->to->flush();
  }

  void Handle(int signal) {
    for (const auto& [passed, name] : kPassedSignals) {
      if (signal != passed) continue;
      SendAll(std::string(name) + "\n");
      if (signal == SIGINT || signal == SIGTERM) stopping_ = true;
    }
  }

  void Reap() {
    for (size_t i = 0; i < ranks_.size(); ++i) {
      RankProcess& rank = ranks_[i];
      int status = 0;
      if (!rank.running || waitpid(rank.pid, &status, WNOHANG) != rank.pid) continue;
      rank.running = false;
      --running_;
      const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      if (options_.elastic) {
        EndElastic(i, code);
        continue;
      }
      // A stop with a snapshot is no failure: the other ranks write or wait.
      if (code == static_cast<int>(ExitCode::kStopped) && code_ == 0) code_ = code;
      const bool failed = code != 0 && code != static_cast<int>(ExitCode::kStopped);
      if (failed && (!failed_ || ExplainsLoss(code))) Fail(i, code);
    }
  }

  // kPeer only says that another rank is lost. The end of that rank may be seen later, and its code
  // is that of the job, unless Doppio itself has ended it.
  bool ExplainsLoss(int code) const {
    constexpr int kPeer = static_cast<int>(ExitCode::kPeer);
    return code_ == kPeer && code != kPeer && tries_ == 0 && !stopping_;
  }

  // A rank of an elastic training has ended. Only the end of the training has code 0.
  void EndElastic(size_t index, int code) {
    RankProcess& rank = ranks_[index];
    if (!failed_) code_ = code;
    if (code == 0 && !failed_) {
      failed_ = true;  // the others end, too, or are ended
      deadline_ = Clock::now() + std::chrono::seconds(options_.grace);
    }
    if (code == 0 || code == static_cast<int>(ExitCode::kStopped)) return;
    Report(index, code);
    if (!IsLoss(code) || failed_ || stopping_ || rank.restarts >= options_.restarts) return;
    ++rank.restarts;
    rank.restart_at = Clock::now() + kRestartDelay;
  }

  // Returns true for codes of a rank that is lost or that has lost the others, also of an ssh that
  // has lost its connection (255). A mistake would only be repeated.
  static bool IsLoss(int code) {
    return code >= 128 || code == static_cast<int>(ExitCode::kPeer) ||
           code == static_cast<int>(ExitCode::kMemory);
  }

  // Starts ranks again that wait for it, while others still hold the state of the training.
  void StartAgain() {
    for (size_t i = 0; i < ranks_.size(); ++i) {
      RankProcess& rank = ranks_[i];
      if (!rank.restart_at || Clock::now() < *rank.restart_at) continue;
      rank.restart_at.reset();
      if (running_ == 0 || failed_ || stopping_) continue;
      std::cerr << "rank " << i << " on " << starts_[i].host << " is started again ("
                << rank.restarts << " of " << options_.restarts << ")" << std::endl;
      CloseEnds(&rank);
      Start(i, starts_[i].again);
    }
  }

  static void CloseEnds(RankProcess* rank) {
    if (rank->input >= 0) close(rank->input);
    rank->input = -1;
    for (OutputPipe& output : rank->outputs) {
      if (output.fd >= 0) close(output.fd);
      output.fd = -1;
    }
  }

  void Fail(size_t rank, int code) {
    code_ = code;
    failed_ = true;
    deadline_ = Clock::now() + std::chrono::seconds(options_.grace);
    Report(rank, code);
  }

  void Report(size_t rank, int code) const {
    std::cerr << "rank " << rank << " on " << starts_[rank].host << " ended with code " << code
              << (code == 255 ? ", as ssh does if it cannot connect" : "") << std::endl;
  }

  // Ends ranks that run on after another one has failed: first by SIGTERM, then by SIGKILL, and at
  // last the program that started them.
  void EndTheRest() {
    if (!failed_ || running_ == 0 || Clock::now() < deadline_) return;
    if (tries_ < 2) SendAll(tries_ == 0 ? "TERM\n" : "KILL\n");
    for (const RankProcess& rank : ranks_) {
      if (tries_ >= 2 && rank.running) kill(-rank.pid, SIGKILL);
    }
    ++tries_;
    deadline_ = Clock::now() + std::chrono::seconds(std::max(1, options_.grace));
  }

  const std::vector<RankStart>& starts_;
  const RankProcessesOptions options_;
  const CaughtSignals signals_;
  std::vector<RankProcess> ranks_;
  int running_ = 0, code_ = 0;
  bool failed_ = false;    // the other ranks are to end
  bool stopping_ = false;  // the user has asked the ranks to end
  int tries_ = 0;          // of EndTheRest
  Clock::time_point deadline_;
};

}  // namespace

int RunRanks(const std::vector<RankStart>& ranks, const RankProcessesOptions& options) {
  std::signal(SIGPIPE, SIG_IGN);  // a rank may end before it has read its script
  return RankGroup(ranks, options).Run();
}

}  // namespace doppio
