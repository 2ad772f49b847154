// random_trainings: checks relations on random cases, and makes those small for which one does not
// hold.
//
//   random_trainings [--seeds=FIRST:COUNT] [--relations=a,b | --draws-only] [--types=A,B]
//                    [--minutes=N] [--keep=FOLDER] [--ledger=FILE.json] [--write=FOLDER]
//                    [CASE.prototxt...]
//
// With files, checks these cases instead of drawing some. With --draws-only, checks no relations,
// and prints how varied the cases are. With --write, writes the case of each seed to FOLDER/SEED
// instead. Exits with 1 if something was found.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/text/split_at.h"
#include "core/base/text/whole_number.h"
#include "tests/random/campaign.h"
#include "tests/random/child.h"
#include "tests/random/found_case.h"
#include "tests/random/ledger.h"
#include "tests/random/relation.h"
#include "tests/random/relation_run.h"
#include "tests/random/shrink.h"

namespace doppio {
namespace {

constexpr char kProgram[] = "bazel run //tests/random:random_trainings --";
constexpr size_t kMostShrunk = 20;  // of the finds of a run

struct Arguments {
  CampaignOptions campaign;
  std::string keep, ledger, write;
  std::vector<std::string> files;
};

int64_t NumberIn(const std::string& flag, const std::string& text) {
  const std::optional<int64_t> number = ParseWholeNumber(text);
  if (!number) throw UsageError(flag + " needs whole numbers; got '" + text + "'");
  return *number;
}

void SetSeeds(const std::string& text, CampaignOptions* options) {
  const std::vector<std::string> parts = SplitAt(text, ':');
  if (parts.empty() || parts.size() > 2) throw UsageError("--seeds needs FIRST:COUNT");
  options->first = static_cast<uint64_t>(NumberIn("--seeds", parts[0]));
  options->seeds = parts.size() == 2 ? NumberIn("--seeds", parts[1]) : 1;
}

Arguments Parse(const std::vector<std::string>& words) {
  Arguments arguments;
  for (const std::string& word : words) {
    if (word.rfind("--", 0) != 0) {
      arguments.files.push_back(word);
      continue;
    }
    const size_t equals = word.find('=');
    const std::string flag = word.substr(0, equals),
                      value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (flag == "--draws-only") {
      arguments.campaign.draws_only = true;
    } else if (flag == "--seeds") {
      SetSeeds(value, &arguments.campaign);
    } else if (flag == "--relations") {
      arguments.campaign.relations = SplitAt(value, ',');
    } else if (flag == "--types") {
      const std::vector<std::string> types = SplitAt(value, ',');
      arguments.campaign.types = {types.begin(), types.end()};
    } else if (flag == "--minutes") {
      arguments.campaign.minutes = static_cast<double>(NumberIn(flag, value));
    } else if (flag == "--keep") {
      arguments.keep = value;
    } else if (flag == "--ledger") {
      arguments.ledger = value;
    } else if (flag == "--write") {
      arguments.write = value;
    } else {
      throw UsageError("no flag " + flag +
                       "; there are --seeds, --relations, --draws-only, --types, --minutes, "
                       "--keep, --ledger, --write");
    }
  }
  return arguments;
}

std::string TypesFlag(const std::set<std::string>& types) {
  std::string text;
  for (const std::string& type : types) text += (text.empty() ? " --types=" : ",") + type;
  return text;
}

// Returns the smallest case for which the relation fails in the same way as with `message`.
FoundCase Smallest(FoundCase found, const std::string& message) {
  const std::string kind = KindOfFailure(message);
  found.random_case = Shrink(found.random_case, [&](const RandomCase& smaller) {
    return KindOfFailure(CheckInChild(found.relation, smaller, found.draw)) == kind;
  });
  return found;
}

// Prints a find with its smallest case, and writes the case to `keep` if that is a folder.
void Report(const FoundCase& found, const std::string& message, const std::string& keep,
            const std::string& name) {
  const FoundCase smallest = Smallest(found, message);
  const std::string text =
      FoundText(smallest, CheckInChild(found.relation, smallest.random_case, found.draw));
  std::cout << "smallest case:\n" << text;
  if (keep.empty()) {
    std::cout << "with the text in FILE: " << kProgram << " FILE\n";
    return;
  }
  std::filesystem::create_directories(keep);
  const std::string path =
      std::filesystem::absolute(keep).string() + "/" + found.relation + "_" + name + ".prototxt";
  std::ofstream(path) << text;
  std::cout << "again with: " << kProgram << " " << path << '\n';
}

// Returns the case of a seed, drawn in a child process, or nothing if drawing it fails.
std::optional<RandomCase> DrawnInChild(uint64_t seed, const std::set<std::string>& types) {
  Child child([&](const SendLine& send) { send(CaseText(DrawCase(seed, types))); });
  const std::optional<std::string> text = child.Next(kMostSeconds);
  if (!text) return std::nullopt;
  return CaseFromText(*text);
}

bool RunSeeds(const Arguments& arguments) {
  const std::set<std::string>& types = arguments.campaign.types;
  size_t finds = 0;
  const CampaignResult result = RunCampaign(arguments.campaign, [&](const Find& find) {
    std::cout << "\nseed " << find.seed << ", "
              << (find.relation.empty() ? "drawing the case" : find.relation) << ": "
              << find.message << "\nagain with: " << kProgram << " --seeds=" << find.seed << ":1"
              << (find.relation.empty() ? "" : " --relations=" + find.relation) << TypesFlag(types)
              << std::endl;
    if (find.relation.empty() || ++finds > kMostShrunk) return;
    const std::optional<RandomCase> drawn = DrawnInChild(find.seed, types);
    if (drawn) {
      Report({find.relation, find.seed, *drawn}, find.message, arguments.keep,
             std::to_string(find.seed));
    }
  });
  if (!arguments.ledger.empty()) AddToFile(result.counts, arguments.ledger);
  std::cout << '\n' << SummaryOf(result.counts, result.seconds);
  return result.finds.empty();
}

bool WriteSeeds(const Arguments& arguments) {
  const CampaignOptions& campaign = arguments.campaign;
  for (int64_t i = 0; i < campaign.seeds; ++i) {
    const uint64_t seed = campaign.first + static_cast<uint64_t>(i);
    WriteForPrograms(DrawCase(seed, campaign.types), arguments.write + "/" + std::to_string(seed));
  }
  return true;
}

// Returns the relations to check on a file's case.
std::vector<std::string> RelationsFor(const FoundCase& found, const Arguments& arguments) {
  if (!arguments.campaign.relations.empty()) return arguments.campaign.relations;
  if (!found.relation.empty()) return {found.relation};
  return Relations::Get().Names();
}

bool RunFiles(const Arguments& arguments) {
  bool held = true;
  for (const std::string& path : arguments.files) {
    const FoundCase found = ReadFound(path);
    for (const std::string& relation : RelationsFor(found, arguments)) {
      const std::string why = CheckInChild(relation, found.random_case, found.draw);
      std::cout << path << ", " << relation << ": " << (why.empty() ? "holds" : why) << std::endl;
      if (why.empty()) continue;
      held = false;
      Report({relation, found.draw, found.random_case}, why, arguments.keep,
             std::filesystem::path(path).stem().string());
    }
  }
  return held;
}

bool RunAll(const Arguments& arguments) {
  if (!arguments.write.empty()) return WriteSeeds(arguments);
  return arguments.files.empty() ? RunSeeds(arguments) : RunFiles(arguments);
}

// Compute threads that wait for each other must not use up the time slices of the others: cases
// have more threads than some machines have cores. OpenMP reads its variables before main.
void RestartWithSleepingThreads(char** words) {
  if (std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  setenv("GOMP_SPINCOUNT", "1000", 1);
  setenv("OMP_NUM_THREADS", "2", 0);
  execv("/proc/self/exe", words);
}

}  // namespace
}  // namespace doppio

int main(int argc, char** argv) {
  doppio::RestartWithSleepingThreads(argv);
  try {
    return doppio::RunAll(doppio::Parse({argv + 1, argv + argc})) ? 0 : 1;
  } catch (const std::exception& e) {
    std::cerr << "random_trainings: " << e.what() << '\n';
    return 2;
  }
}
