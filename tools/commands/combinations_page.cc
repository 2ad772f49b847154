#include "tools/commands/combinations_page.h"

#include <string>

#include "core/net/contract/combinations.h"

namespace doppio {
namespace {

struct RuleText {
  PairRule rule;
  const char* letter;   // in the matrix
  const char* heading;  // of the list of reasons
  const char* between;  // between the names of the two features
};
constexpr RuleText kRules[] = {
    {PairRule::kRefused, "R", "Refused together", "and"},
    {PairRule::kNeeds, "N", "Refused without another feature", "without"},
    {PairRule::kFails, "F", "End with an error when it happens", "and"},
    {PairRule::kOff, "O", "Switched off by another feature", "with"},
    {PairRule::kIdle, "I", "Without effect unless another feature is used", "without"},
    {PairRule::kLimited, "L", "Work together with a limit", "and"},
};

const RuleText& TextOf(PairRule rule) { return kRules[static_cast<size_t>(rule)]; }

std::string Numbered(Feature feature) { return std::to_string(static_cast<int>(feature) + 1); }

bool Has(Feature feature, Feature Combination::*side) {
  for (const Combination& row : Combinations()) {
    if (row.*side == feature) return true;
  }
  return false;
}

std::string LetterOf(Feature first, Feature second) {
  for (const Combination& row : Combinations()) {
    if (row.first == first && row.second == second) return TextOf(row.rule).letter;
  }
  return "";
}

template <class F>
void ForEachFeature(const F& f) {
  for (int i = 0; i < static_cast<int>(Feature::kCount); ++i) f(static_cast<Feature>(i));
}

void PrintFeatures(std::ostream& out) {
  out << "\n## Features\n\n| | feature | what it is |\n|---|---|---|\n";
  ForEachFeature([&](Feature feature) {
    out << "| " << Numbered(feature) << " | " << TextOf(feature).name << " | "
        << TextOf(feature).meaning << " |\n";
  });
}

void PrintMatrix(std::ostream& out) {
  out << "\n## Matrix\n\nThe letters are those of the lists below: ";
  for (const RuleText& text : kRules) {
    out << (text.rule == PairRule::kRefused ? "" : "; ") << "**" << text.letter << "** "
        << text.heading;
  }
  out << ". A row is about the feature on its left together with that of the column.\n\n| |";
  std::string line = "|---|";
  ForEachFeature([&](Feature feature) {
    if (!Has(feature, &Combination::second)) return;
    out << " " << Numbered(feature) << " |";
    line += "---|";
  });
  out << "\n" << line << "\n";
  ForEachFeature([&](Feature first) {
    if (!Has(first, &Combination::first)) return;
    out << "| " << Numbered(first) << " " << TextOf(first).name << " |";
    ForEachFeature([&](Feature second) {
      if (Has(second, &Combination::second)) out << " " << LetterOf(first, second) << " |";
    });
    out << "\n";
  });
}

void PrintReasons(const RuleText& text, std::ostream& out) {
  out << "\n## " << text.letter << ": " << text.heading << "\n\n";
  for (const Combination& row : Combinations()) {
    if (row.rule != text.rule) continue;
    out << "* **" << TextOf(row.first).name << "** " << text.between << " **"
        << TextOf(row.second).name << "**";
    if (row.with != Feature::kCount) out << ", with " << TextOf(row.with).name;
    out << ": " << row.reason << "\n";
  }
}

}  // namespace

void PrintCombinations(std::ostream& out) {
  out << "# Features together\n\n"
         "Each feature of a training works alone, and two of them work together unless this page "
         "has an entry. `train` refuses\na training before it reads data, with all refusals and "
         "reasons at once; so do `time`, the solver in Python and, for what\nthe files ask for, "
         "`check`. `doppio reference combinations` prints this page from the program's own "
         "table.\n";
  PrintFeatures(out);
  PrintMatrix(out);
  for (const RuleText& text : kRules) PrintReasons(text, out);
}

}  // namespace doppio
