#include "tests/double/machine/settings.h"

#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <sstream>
#include <vector>

#include "tests/double/machine/fault.h"

namespace doppio::gpu_double {
namespace {

using Setter = std::function<void(const std::string& word, const std::string& value)>;

Setter Number(int64_t least, int64_t most, std::function<void(int64_t)> set) {
  return [=](const std::string& word, const std::string& value) {
    const bool negative = value.size() > 1 && value[0] == '-';
    const std::string digits = value.substr(negative ? 1 : 0);
    const bool number = !digits.empty() && digits.size() <= 18 &&
                        digits.find_first_not_of("0123456789") == std::string::npos;
    const int64_t parsed = number ? (negative ? -1 : 1) * std::stoll(digits) : 0;
    if (!number || parsed < least || parsed > most) {
      Fault("settings", "DOPPIO_DOUBLE: " + word + " is not a whole number from " +
                            std::to_string(least) + " to " + std::to_string(most));
    }
    set(parsed);
  };
}

Setter OneOf(const std::vector<std::string>& names, std::string* to) {
  return [=](const std::string& word, const std::string& value) {
    std::string listed;
    for (const std::string& name : names) {
      if (name == value) {
        *to = value;
        return;
      }
      listed += (listed.empty() ? "" : ", ") + name;
    }
    Fault("settings", "DOPPIO_DOUBLE: " + word + " is none of " + listed);
  };
}

// The settings and the random number generator of the process.
struct Process {
  Process() {
    Take(ParseSettings(std::getenv("DOPPIO_DOUBLE") ? std::getenv("DOPPIO_DOUBLE") : ""));
  }
  void Take(const Settings& taken) {
    settings = taken;
    random.seed(taken.seed);
  }
  Settings settings;
  std::mutex mutex;  // guards `random`
  std::mt19937_64 random;
};

// Never destroyed, because work may still run during process exit.
Process& TheProcess() {
  static Process* const process = new Process;
  return *process;
}

}  // namespace

Settings ParseSettings(const std::string& text) {
  constexpr int64_t kMost = 999'999'999'999'999'999;
  Settings s;
  const std::map<std::string, Setter> setters = {
      {"seed", Number(0, kMost, [&](int64_t n) { s.seed = n; })},
      {"devices", Number(0, kMostDevices, [&](int64_t n) { s.devices = n; })},
      {"order", OneOf({"late", "early", "random"}, &s.order)},
      {"peers", OneOf({"all", "none", "pairs", "broken"}, &s.peers)},
      {"memory", Number(1, kMostMemoryMib, [&](int64_t n) { s.memory_mib = n; })},
      {"capability", Number(50, 129, [&](int64_t n) { s.capability = n; })},
      {"fail_malloc", Number(0, kMost, [&](int64_t n) { s.fail_malloc = n; })},
      {"fail_launch", Number(0, kMost, [&](int64_t n) { s.fail_launch = n; })},
      {"lose_device", Number(0, kMost, [&](int64_t n) { s.lose_device = n; })},
      {"slow_device", Number(-1, kMostDevices - 1, [&](int64_t n) { s.slow_device = n; })},
      {"refuse", Number(0, 1, [&](int64_t n) { s.refuse = n != 0; })},
      {"nccl_fail", OneOf({"join", "sum", "old"}, &s.nccl_fail)},
      {"cudnn_fail",
       Number(0, std::numeric_limits<int>::max(), [&](int64_t n) { s.cudnn_fail = n; })},
      {"slow_plans", Number(0, 60'000, [&](int64_t n) { s.slow_plans = n; })},
      {"clock", OneOf({"real", "bytes"}, &s.clock)},
      {"counters", [&](const std::string&, const std::string& value) { s.counters = value; }},
      {"plant", [&](const std::string&, const std::string& value) { s.plant = value; }},
  };
  std::set<std::string> seen;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (equals == std::string::npos || equals + 1 == word.size()) {
      Fault("settings", "DOPPIO_DOUBLE: " + word + " is not NAME=VALUE");
    }
    const auto setter = setters.find(name);
    if (setter == setters.end()) {
      std::string listed;
      for (const auto& [known, unused] : setters) listed += " " + known;
      Fault("settings", "DOPPIO_DOUBLE: " + word + ": the names are" + listed);
    }
    if (!seen.insert(name).second) Fault("settings", "DOPPIO_DOUBLE: " + name + " is set twice");
    setter->second(word, word.substr(equals + 1));
  }
  return s;
}

const Settings& TheSettings() { return TheProcess().settings; }

void Use(const Settings& settings) {
  Process& process = TheProcess();
  const std::lock_guard<std::mutex> lock(process.mutex);
  process.Take(settings);
}

bool Planted(const char* name) {
  const std::string& plant = TheSettings().plant;
  return !plant.empty() && plant == name;
}

uint64_t Random(uint64_t below) {
  if (below == 0) Fault("settings", "Random(0) has no number to choose from");
  Process& process = TheProcess();
  const std::lock_guard<std::mutex> lock(process.mutex);
  return process.random() % below;
}

}  // namespace doppio::gpu_double
