#include "tools/launch/host_slots.h"

#include <algorithm>
#include <optional>
#include <sstream>

#include "core/base/content/text_file.h"
#include "core/base/error.h"
#include "tools/cli/flags.h"

namespace doppio {
namespace {

constexpr int kMostSlots = 4096;

// Returns a number of slots, or nullopt if the text is none.
std::optional<int> SlotsOf(const std::string& text) {
  if (text.empty() || text.size() > 4 || text.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  const int slots = std::stoi(text);
  return slots >= 1 && slots <= kMostSlots ? std::optional<int>(slots) : std::nullopt;
}

// Reads "host", "host:4", "[address]" or "[address]:4". Returns nullopt if it is none of these.
std::optional<HostSlots> HostOf(const std::string& word) {
  HostSlots host = {word, 1};
  const size_t bracket = word.find('['), end = word.find(']');
  size_t colon = word.find(':');
  if (bracket != std::string::npos) {
    if (end == std::string::npos || end < bracket) return std::nullopt;
    host.host = word.substr(0, bracket) + word.substr(bracket + 1, end - bracket - 1);
    colon = end + 1;
    if (colon == word.size()) colon = std::string::npos;
    if (colon != std::string::npos && word[colon] != ':') return std::nullopt;
  } else if (colon != std::string::npos) {
    host.host = word.substr(0, colon);
  }
  if (colon != std::string::npos) {
    const std::optional<int> slots = SlotsOf(word.substr(colon + 1));
    if (!slots) return std::nullopt;
    host.slots = *slots;
  }
  // A name that begins with '-' would be an option of ssh.
  if (host.host.empty() || host.host[0] == '-') return std::nullopt;
  return host;
}

void AddHost(const HostSlots& host, std::vector<HostSlots>* hosts) {
  const auto same = std::find_if(hosts->begin(), hosts->end(),
                                 [&](const HostSlots& other) { return other.host == host.host; });
  if (same == hosts->end()) {
    hosts->push_back(host);
  } else {
    same->slots += host.slots;
  }
}

}  // namespace

std::vector<HostSlots> ParseHosts(const std::string& list) {
  std::vector<HostSlots> hosts;
  for (const std::string& word : SplitList(list)) {
    const std::optional<HostSlots> host = HostOf(word);
    if (!host) {
      throw UsageError("--hosts has '", word,
                       "'; a host is a name or an address, an IPv6 address in brackets, and then a "
                       "colon and its number of ranks: a:4,b:4");
    }
    AddHost(*host, &hosts);
  }
  if (hosts.empty()) throw UsageError("--hosts names no host");
  return hosts;
}

std::vector<HostSlots> ReadHostFile(const std::string& path) {
  std::vector<HostSlots> hosts;
  SourceLoc at = {path, 0, 0};
  for (const std::string& line : ReadLines(path, "a list of hosts, one per line,")) {
    ++at.line;
    std::istringstream words(line.substr(0, line.find('#')));
    std::string name, slots, more;
    if (!(words >> name)) continue;
    std::optional<HostSlots> host = HostOf(name);
    if (words >> slots) {
      const std::string key = "slots=";
      const auto given =
          slots.rfind(key, 0) == 0 ? SlotsOf(slots.substr(key.size())) : std::nullopt;
      if (host && given) host->slots = *given;
      if (!given) host.reset();
    }
    if (!host || words >> more) {
      throw UserError(
          at, "a line is a host and its number of ranks, as in 'node1 slots=4' or 'node1:4'");
    }
    AddHost(*host, &hosts);
  }
  if (hosts.empty()) throw FileError("'", path, "' names no host");
  return hosts;
}

std::vector<HostSlots> TakeSlots(std::vector<HostSlots> hosts, int ranks) {
  if (ranks == 0) return hosts;
  int left = ranks;
  for (HostSlots& host : hosts) {
    host.slots = std::min(host.slots, left);
    left -= host.slots;
  }
  if (left > 0) {
    throw UsageError("--ranks=", ranks, " is more than the hosts' ", ranks - left, " slots");
  }
  hosts.erase(std::remove_if(hosts.begin(), hosts.end(),
                             [](const HostSlots& host) { return host.slots == 0; }),
              hosts.end());
  return hosts;
}

}  // namespace doppio
