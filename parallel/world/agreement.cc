#include "parallel/world/agreement.h"

#include <algorithm>
#include <vector>

#include "parallel/meeting/texts.h"

namespace doppio {
namespace {

constexpr size_t kMostFacts = 4, kMostRanks = 4, kMostCharacters = 80;

// Serializes `facts` with zero bytes as separators. Neither names nor values contain zero bytes.
std::string Joined(const Facts& facts) {
  std::string text;
  for (const auto& [name, value] : facts) text += name + '\0' + value + '\0';
  return text;
}

Facts Split(const std::string& text) {
  Facts facts;
  for (size_t begin = 0; begin < text.size();) {
    const size_t middle = text.find('\0', begin), end = text.find('\0', middle + 1);
    facts[text.substr(begin, middle - begin)] = text.substr(middle + 1, end - middle - 1);
    begin = end + 1;
  }
  return facts;
}

const std::string* Find(const Facts& facts, const std::string& name) {
  const auto found = facts.find(name);
  return found == facts.end() ? nullptr : &found->second;
}

std::string Shown(const std::string* value) {
  if (value == nullptr) return "not set";
  if (value->empty()) return "empty";
  return value->size() <= kMostCharacters ? *value : value->substr(0, kMostCharacters) + "...";
}

// Returns the differences as text: "base_lr is 0.02, on rank 0 it is 0.01; max_iter is not set, on
// rank 0 it is 100".
std::string Difference(const Facts& own, const Facts& first) {
  Facts all = own;
  all.insert(first.begin(), first.end());
  std::string text;
  size_t count = 0;
  for (const auto& [name, value] : all) {
    const std::string *here = Find(own, name), *there = Find(first, name);
    if (here != nullptr && there != nullptr && *here == *there) continue;
    if (++count > kMostFacts) continue;
    text += (text.empty() ? "" : "; ") + name + " is " + Shown(here) + ", on rank 0 it is " +
            Shown(there);
  }
  if (count > kMostFacts) text += "; and " + std::to_string(count - kMostFacts) + " more";
  return text;
}

}  // namespace

std::string DifferenceFromRankZero(Communicator* control, const std::string& host,
                                   const Facts& own) {
  const Facts first = Split(BroadcastText(control, Joined(own), 0));
  const std::string difference = Difference(own, first);
  const std::string named = difference.empty() ? ""
                                               : "rank " + std::to_string(control->rank()) +
                                                     " on " + host + ": " + difference;
  std::string text;
  size_t ranks = 0;
  for (const std::string& one : GatherTexts(control, named)) {
    if (one.empty() || ++ranks > kMostRanks) continue;
    text += (text.empty() ? "" : "; ") + one;
  }
  if (ranks > kMostRanks) text += "; and " + std::to_string(ranks - kMostRanks) + " more ranks";
  return text;
}

}  // namespace doppio
