// `launch`: starts the ranks of a training on this machine or, by ssh, on several, without MPI.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <sstream>

#include "core/base/host_name.h"
#include "parallel/sockets/interfaces.h"
#include "tools/cli/command.h"
#include "tools/cli/flags.h"
#include "tools/cli/shell_quoted.h"
#include "tools/cli/word_list.h"
#include "tools/launch/host_slots.h"
#include "tools/launch/rank_processes.h"
#include "tools/launch/rank_script.h"
#include "tools/pages/dash_server.h"

namespace doppio {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kLaunchExample =
    "doppio launch --hosts=node1:4,node2:4 -- train --solver=solver.prototxt";

bool IsHere(const std::string& host) { return host.empty() || host == "localhost"; }

std::vector<HostSlots> HostsFromFlags(const CommandLine& line) {
  const int ranks = static_cast<int>(InRange("ranks", line.flags.ranks, 0, 100'000));
  if (line.Given("hosts") && line.Given("hostfile"))
    throw UsageError("give either --hosts or --hostfile");
  if (line.Given("hosts")) return TakeSlots(ParseHosts(line.flags.hosts), ranks);
  if (line.Given("hostfile")) return TakeSlots(ReadHostFile(line.flags.hostfile), ranks);
  if (ranks == 0) throw UsageError("launch needs --ranks, --hosts or --hostfile");
  return {{"", ranks}};
}

// Returns the command of each rank. Parses it now, so that errors show once. Sets *elastic if the
// ranks may change.
std::vector<std::string> RankCommand(const CommandLine& line, bool* elastic) {
  std::vector<std::string> words = {"doppio"};
  words.insert(words.end(), line.files.begin(), line.files.end());
  const CommandLine train = ParseCommandLine(words);
  if (train.command_name != "train" || train.help || train.version) {
    throw UsageError(std::string("the command after -- must be a training, as in\n  ") +
                     kLaunchExample);
  }
  if (!train.warnings.empty()) throw UsageError(train.warnings[0]);
  *elastic = !train.flags.elastic.empty();
  if (line.Given("interface")) {
    if (train.Given("interface"))
      throw UsageError("give --interface either before or after the --");
    words.push_back("--interface=" + line.flags.interface);
  }
  words[0] = line.flags.program;
  return words;
}

// Returns a port of this machine that no program uses.
int FreePort() {
  const int listening = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 address = {};
  address.sin6_family = AF_INET6;
  socklen_t bytes = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  const bool bound = listening >= 0 && bind(listening, any, bytes) == 0 &&
                     getsockname(listening, any, &bytes) == 0;
  if (listening >= 0) close(listening);
  return bound ? ntohs(address.sin6_port) : 0;
}

// Throws UsageError if ranks on this machine cannot use --interface. The ranks of other machines
// check it themselves.
void CheckInterface(const std::string& interface, const std::vector<HostSlots>& hosts) {
  const bool here = std::any_of(hosts.begin(), hosts.end(), [](const HostSlots& host) {
    return IsHere(host.host) || host.host == HostName();
  });
  const std::string problem = here ? InterfaceProblem(interface, HostName()) : "";
  if (!problem.empty()) throw UsageError(problem);
}

int PortFromFlags(const CommandLine& line, bool rank_0_is_here) {
  const int given = static_cast<int>(InRange("port", line.flags.port, 0, 65535));
  if (given > 0) return given;
  const int free = rank_0_is_here ? FreePort() : 0;
  std::random_device random;
  return free > 0 ? free : std::uniform_int_distribution<int>(20000, 29999)(random);
}

// Returns the address at which the other ranks reach rank 0.
std::string AddressOfRank0(const std::vector<HostSlots>& hosts) {
  if (hosts.size() == 1 && IsHere(hosts[0].host)) return "127.0.0.1";
  if (IsHere(hosts[0].host)) return HostName();
  return hosts[0].host.substr(hosts[0].host.find('@') + 1);
}

// Returns the variables of this process that the ranks get: those that --environment names, and all
// whose names say that they are for a training.
Variables CarriedVariables(const std::string& named) {
  Variables carried;
  const std::vector<std::string> names = SplitList(named);
  for (const std::string& name : names) {
    if (std::getenv(name.c_str()) == nullptr)
      throw UsageError("--environment names '" + name + "', which is not set");
  }
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const std::string name = text.substr(0, text.find('='));
    const auto begins = [&](const char* prefix) { return name.rfind(prefix, 0) == 0; };
    const bool chosen =
        Contains(names, name) || begins("DOPPIO_") || begins("OMP_") || begins("NCCL_");
    const bool plain =
        name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
        std::string::npos;
    if (chosen && plain && text.size() > name.size())
      carried.push_back({name, text.substr(name.size() + 1)});
  }
  return carried;
}

// Returns the command line up to the command of the ranks.
std::string LaunchWords(const CommandLine& line) {
  std::vector<std::string> words = {ShellQuoted(line.program)};
  for (const std::string& word : line.words) {
    words.push_back(ShellQuoted(word));
    if (word == "--") break;
  }
  return Join(words, " ");
}

// Returns the names of the other machines on which an elastic training may have its leader.
std::string ElasticHosts(const std::vector<HostSlots>& hosts) {
  std::vector<std::string> names;
  for (const HostSlots& host : hosts) {
    if (!IsHere(host.host)) names.push_back(host.host.substr(host.host.find('@') + 1));
    if (IsHere(host.host) && hosts.size() > 1) names.push_back(HostName());
  }
  return Join(names, ",");
}

// Returns how `host` runs a script.
ScriptStart StartOn(const CommandLine& line, const std::string& host, const std::string& script) {
  ScriptStart start;
  start.script = script;
  if (IsHere(host)) {
    start.words = {"sh", "-c", ReaderOf(script)};
    return start;
  }
  std::istringstream words(line.flags.rsh);
  for (std::string word; words >> word;) start.words.push_back(word);
  if (start.words.empty()) throw UsageError("--rsh names no program");
  start.words.push_back(host);
  // ssh passes its words to a shell there.
  start.words.push_back("sh -c " + ShellQuoted(ReaderOf(script)));
  return start;
}

std::vector<RankStart> StartsOf(const CommandLine& line, const std::vector<HostSlots>& hosts,
                                bool* elastic) {
  CheckInterface(line.flags.interface, hosts);
  Variables shared = CarriedVariables(line.flags.environment);
  const char* const secret = std::getenv("DOPPIO_JOB_SECRET");
  if (secret == nullptr || *secret == 0) shared.push_back({"DOPPIO_JOB_SECRET", RandomToken()});
  // For the command that resumes the training.
  shared.push_back({"DOPPIO_LAUNCH", LaunchWords(line)});
  shared.push_back({"MASTER_ADDR", AddressOfRank0(hosts)});
  shared.push_back({"MASTER_PORT", std::to_string(PortFromFlags(line, IsHere(hosts[0].host)))});
  const std::string elastic_hosts = ElasticHosts(hosts);
  if (!elastic_hosts.empty()) shared.push_back({"DOPPIO_ELASTIC_HOSTS", elastic_hosts});
  int size = 0, rank = 0;
  for (const HostSlots& host : hosts) size += host.slots;
  const std::vector<std::string> command = RankCommand(line, elastic);
  std::vector<RankStart> starts;
  for (const HostSlots& host : hosts) {
    for (int local = 0; local < host.slots; ++local, ++rank) {
      RankScript script;
      script.folder = std::filesystem::current_path();
      script.environment = shared;
      for (const auto& [name, value] : {std::pair<const char*, int>{"RANK", rank},
                                        {"WORLD_SIZE", size},
                                        {"LOCAL_RANK", local},
                                        {"LOCAL_WORLD_SIZE", host.slots}})
        script.environment.push_back({name, std::to_string(value)});
      script.command = command;
      script.grace = line.flags.grace;
      RankStart start;
      start.host = IsHere(host.host) ? "this machine" : host.host;
      start.first = StartOn(line, host.host, TextOfScript(script));
      script.environment.push_back({"DOPPIO_ELASTIC_JOIN", "1"});
      start.again = StartOn(line, host.host, TextOfScript(script));
      starts.push_back(start);
    }
  }
  return starts;
}

ExitCode RunLaunch(const CommandLine& line, bool* began) {
  // A flag of train before the "--" would be lost.
  if (!line.warnings.empty()) {
    throw UsageError(line.warnings[0] + "; put the flags of the training after --, as in\n  " +
                     kLaunchExample);
  }
  RankProcessesOptions options;
  options.grace = static_cast<int>(InRange("grace", line.flags.grace, 0, 86400));
  options.tag = line.flags.tag;
  options.restarts = static_cast<int>(InRange("restarts", line.flags.restarts, 0, 1'000'000));
  const std::vector<RankStart> starts = StartsOf(line, HostsFromFlags(line), &options.elastic);
  if (options.restarts > 0 && !options.elastic)
    throw UsageError("--restarts is for trainings with --elastic, in which other ranks continue");
  *began = true;
  return static_cast<ExitCode>(RunRanks(starts, options));
}

DOPPIO_REGISTER(
    Commands, "launch",
    {"starts a training on several hosts or cores, without MPI",
     Words("ranks hosts hostfile rsh port interface environment grace restarts tag program"),
     {"ranks|hosts|hostfile"},
     "-- train FLAGS",
     kLaunchExample,
     &RunLaunch});

}  // namespace
}  // namespace doppio
