#include "tools/help/help_index.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <tuple>

#include "core/base/file.h"
#include "core/base/text/nearest.h"
#include "core/net/contract/layer.h"
#include "tools/cli/command.h"
#include "tools/cli/word_list.h"
#include "tools/help/field_table.h"
#include "tools/help/flag_text.h"
#include "tools/help/help_topics.h"

namespace doppio {
namespace {

// Returns the text in lower case without '-', '_' and spaces.
std::string KeyOf(const std::string& text) {
  std::string key;
  for (char c : text) {
    if (c != '-' && c != '_' && c != ' ') key += Lower(c);
  }
  return key;
}

bool SameKey(const std::string& a, const std::string& b) {
  return a == b || a + "s" == b || b + "s" == a;
}

// Splits a text or name into words in lower case: "SoftmaxWithLoss" -> softmax, with, loss.
std::vector<std::string> KeysOfWords(const std::string& text) {
  std::vector<std::string> keys(1);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto letter = static_cast<unsigned char>(text[i]);
    const bool begins = i > 0 && std::isupper(letter) != 0 &&
                        std::islower(static_cast<unsigned char>(text[i - 1])) != 0;
    if ((std::isalnum(letter) == 0 || begins) && !keys.back().empty()) keys.emplace_back();
    if (std::isalnum(letter) != 0) keys.back() += Lower(text[i]);
  }
  if (keys.back().empty()) keys.pop_back();
  return keys;
}

// Returns true if some consecutive words, joined, equal the key: "a warm-up of" contains "warmup".
bool HasKey(const std::vector<std::string>& words, const std::string& key) {
  for (size_t first = 0; first < words.size(); ++first) {
    std::string joined;
    for (size_t i = first; i < words.size() && joined.size() <= key.size(); ++i) {
      joined += words[i];
      if (SameKey(joined, key)) return true;
    }
  }
  return false;
}

void AddTopics(std::vector<HelpEntry>* entries) {
  for (const HelpTopic& topic : HelpTopics()) {
    HelpEntry entry{HelpEntry::kTopic, topic.name, {topic.name}, topic.answer, topic.where};
    entry.names.insert(entry.names.end(), topic.synonyms.begin(), topic.synonyms.end());
    entries->push_back(entry);
  }
}

void AddCommands(std::vector<HelpEntry>* entries) {
  for (const std::string& name : Commands::Get().Names()) {
    const Command& command = *Commands::Get().Find(name);
    HelpEntry entry{HelpEntry::kCommand, name, {name}, command.summary, "doppio help " + name};
    entry.names.insert(entry.names.end(), command.old_names.begin(), command.old_names.end());
    entries->push_back(entry);
    for (const Verb& verb : command.verbs) {
      const std::string both = name + " " + verb.name;
      entries->push_back(
          {HelpEntry::kVerb, both, {both, verb.name}, verb.summary, "doppio help " + both});
    }
  }
}

// Returns a summary of the fields that a layer type accepts: "2 → 1 or 2; accuracy_param { top_k
// axis ignore_label }".
std::string FieldsOfLayer(const std::string& type) {
  std::string text = ArityOf(type);
  for (const google::protobuf::FieldDescriptor* parameter : ParametersOf(type)) {
    text += "; " + parameter->name() + " {";
    for (const FieldRow& row : FieldRows(*parameter->message_type())) text += " " + row.name;
    text += " }";
  }
  return text;
}

void AddLayers(std::vector<HelpEntry>* entries) {
  for (const std::string& type : LayerTypes::Get().Names()) {
    entries->push_back(
        {HelpEntry::kLayer, type, {type}, FieldsOfLayer(type), "doppio help " + type});
  }
}

// Returns the commands and verbs that accept a flag, the most used commands first.
std::vector<std::string> OwnersOfFlag(const std::string& flag) {
  std::vector<std::string> owners;
  const auto add = [&](const std::string& owner, const std::vector<std::string>& flags) {
    if (Contains(flags, flag) && !Contains(owners, owner)) owners.push_back(owner);
  };
  std::vector<std::string> names = {"train", "test", "time"};
  const std::vector<std::string> all = Commands::Get().Names();
  names.insert(names.end(), all.begin(), all.end());
  for (const std::string& name : names) {
    const Command* command = Commands::Get().Find(name);
    if (command == nullptr) continue;  // the program may be linked with a subset of the commands
    if (command->verbs.empty()) add(name, command->flags);
    for (const Verb& verb : command->verbs) add(name + " " + verb.name, verb.flags);
  }
  return owners;
}

std::string PagesOf(const std::vector<std::string>& owners) {
  constexpr size_t kLongest = 28;
  std::string pages = "doppio help " + owners[0];
  size_t i = 1;
  for (; i < owners.size() && pages.size() + owners[i].size() < kLongest; ++i)
    pages += ", " + owners[i];
  return pages + (i < owners.size() ? ", ..." : "");
}

void AddFlags(std::vector<HelpEntry>* entries) {
  std::set<std::string> flags;
  for (const std::string& name : Commands::Get().Names()) {
    const std::vector<std::string>& of_command = Commands::Get().Find(name)->flags;
    flags.insert(of_command.begin(), of_command.end());
  }
  constexpr size_t kLongestValue = 12;
  for (const std::string& name : flags) {
    const FlagText flag = DescribeFlag(name);
    const std::string value = flag.value.size() > kLongestValue ? "..." : flag.value;
    entries->push_back({HelpEntry::kFlag,
                        "--" + name + (value.empty() ? "" : "=" + value),
                        {name},
                        flag.meaning,
                        PagesOf(OwnersOfFlag(name))});
  }
}

void AddFields(std::vector<HelpEntry>* entries) {
  for (const google::protobuf::Descriptor* message : MessagesOfFiles()) {
    for (const FieldRow& row : FieldRows(*message)) {
      const std::string usual =
          row.default_value.empty() ? "" : " (default: " + row.default_value + ")";
      entries->push_back({HelpEntry::kField,
                          row.name,
                          {row.name},
                          row.meaning + usual,
                          "doppio help " + message->name(),
                          EndsWith(row.meaning, "without effect")});
    }
  }
}

const std::vector<HelpEntry>& Index() {
  static const auto* index = [] {
    auto* entries = new std::vector<HelpEntry>;
    AddTopics(entries);
    AddCommands(entries);
    AddLayers(entries);
    AddFlags(entries);
    AddFields(entries);
    return entries;
  }();
  return *index;
}

// The quality of a match, best first.
enum Match { kTopicItself, kNameItself, kWordOfName, kPartOfName, kWordOfMeaning, kNone };

Match MatchOfName(const std::string& name, const std::string& key) {
  constexpr size_t kShortestPart = 3;
  const std::string its = KeyOf(name);
  if (SameKey(its, key)) return kNameItself;
  if (HasKey(KeysOfWords(name), key)) return kWordOfName;
  return key.size() >= kShortestPart && its.find(key) != std::string::npos ? kPartOfName : kNone;
}

Match MatchOf(const HelpEntry& entry, const std::string& words) {
  const std::string key = KeyOf(words);
  Match best = HasKey(KeysOfWords(entry.meaning), key) ? kWordOfMeaning : kNone;
  for (const std::string& name : entry.names) {
    Match match = MatchOfName(name, key);
    if (entry.kind == HelpEntry::kTopic) {
      // A word of a synonym is a weak match: "transfer learning" contains "learning".
      const bool synonym = &name != &entry.names[0];
      match = match == kNameItself                ? kTopicItself
              : synonym && match < kWordOfMeaning ? kWordOfMeaning
                                                  : match;
    }
    best = std::min(best, match);
  }
  return best;
}

}  // namespace

const char* NameOf(HelpEntry::Kind kind) {
  static const char* const kNames[] = {"topic", "command", "verb", "layer", "flag", "field"};
  return kNames[kind];
}

std::vector<HelpEntry> SearchHelp(const std::string& words) {
  struct Found {
    bool without_effect;
    Match match;
    HelpEntry::Kind kind;
    const HelpEntry* entry;
  };
  std::vector<Found> found;
  for (const HelpEntry& entry : Index()) {
    const Match match = MatchOf(entry, words);
    if (match != kNone) found.push_back({entry.without_effect, match, entry.kind, &entry});
  }
  const auto rank = [](const Found& f) {
    return std::make_tuple(f.without_effect, f.match, f.kind);
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const Found& a, const Found& b) { return rank(a) < rank(b); });
  std::vector<HelpEntry> entries;
  for (const Found& f : found) entries.push_back(*f.entry);
  return entries;
}

std::vector<std::string> NearestInHelp(const std::string& words) {
  std::vector<std::string> names;
  for (const HelpEntry& entry : Index())
    names.insert(names.end(), entry.names.begin(), entry.names.end());
  constexpr size_t kMost = 3;
  std::vector<std::string> nearest;
  for (const std::string& name : AllNearest(words, names)) {
    const bool seen = std::any_of(nearest.begin(), nearest.end(), [&](const std::string& other) {
      return KeyOf(other) == KeyOf(name);
    });
    if (!seen && nearest.size() < kMost) nearest.push_back(name);
  }
  return nearest;
}

bool EqualHelpWords(const std::string& a, const std::string& b) { return KeyOf(a) == KeyOf(b); }

}  // namespace doppio
