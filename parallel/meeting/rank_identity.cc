#include "parallel/meeting/rank_identity.h"

#include <algorithm>

#include "parallel/meeting/texts.h"

namespace doppio {
namespace {

// A group of ranks with the same text.
struct Group {
  std::string text;
  std::vector<int> ranks;
  std::vector<std::string> hosts;  // without duplicates
};

void Add(const std::string& text, int rank, const std::string& host, std::vector<Group>* groups) {
  auto group = std::find_if(groups->begin(), groups->end(),
                            [&](const Group& known) { return known.text == text; });
  if (group == groups->end()) group = groups->insert(groups->end(), {text, {}, {}});
  group->ranks.push_back(rank);
  if (std::find(group->hosts.begin(), group->hosts.end(), host) == group->hosts.end())
    group->hosts.push_back(host);
}

// Formats sorted numbers as ranges: {0, 2, 3, 4, 5} -> "0, 2-5".
std::string Ranges(const std::vector<int>& numbers) {
  std::string text;
  for (size_t begin = 0; begin < numbers.size();) {
    size_t end = begin + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    text += (text.empty() ? "" : ", ") + std::to_string(numbers[begin]);
    if (end - begin > 1) text += "-" + std::to_string(numbers[end - 1]);
    begin = end;
  }
  return text;
}

// Returns the names of the first few hosts, because a cluster has too many for a message.
std::string Hosts(const std::vector<std::string>& hosts) {
  constexpr size_t kMost = 8;
  std::string text;
  for (size_t i = 0; i < std::min(hosts.size(), kMost); ++i)
    text += (text.empty() ? "" : ", ") + hosts[i];
  if (hosts.size() > kMost) text += " and " + std::to_string(hosts.size() - kMost) + " more";
  return text;
}

std::string Text(const std::vector<Group>& groups) {
  std::string text;
  for (const Group& group : groups) {
    text += (text.empty() ? "rank" : "; rank") + std::string(group.ranks.size() > 1 ? "s " : " ") +
            Ranges(group.ranks) + " on " + Hosts(group.hosts) + ": " + group.text;
  }
  return text;
}

}  // namespace

RankIdentity IdentityOf(const std::string& host, const std::string& program,
                        const std::string& library) {
  RankIdentity identity;
  PutText(host, identity.host);
  PutText(program, identity.program);
  PutText(library, identity.library);
  return identity;
}

std::string DifferenceAmong(const std::vector<RankIdentity>& ranks) {
  std::vector<Group> programs, libraries;
  for (size_t r = 0; r < ranks.size(); ++r) {
    const std::string host = GetText(ranks[r].host);
    Add(GetText(ranks[r].program), static_cast<int>(r), host, &programs);
    Add(GetText(ranks[r].library), static_cast<int>(r), host, &libraries);
  }
  if (programs.size() > 1) {
    return "the ranks run different builds of Doppio: " + Text(programs) +
           ". Install the same build on all machines";
  }
  if (libraries.size() > 1) {
    return "the ranks have opened different MPI libraries: " + Text(libraries) +
           ". Load the same MPI on all machines, or name its library with --mpi_library";
  }
  return "";
}

}  // namespace doppio
