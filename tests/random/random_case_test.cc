// Checks that random cases are varied, legal and reproducible.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "core/base/file.h"
#include "core/net/spec/solver_spec.h"
#include "solvers/update/lr_policy.h"
#include "solvers/update/rule_check.h"
#include "tests/random/data_files.h"
#include "tests/random/draft_flow.h"
#include "tests/random/layer_row.h"
#include "tests/random/net_draft.h"
#include "tests/random/random_case.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

constexpr uint64_t kCaseSeeds = 300;

struct DrawnCases {
  std::vector<RandomCase> cases;
  DraftRecord record;
};

// Returns the cases of the seeds below kCaseSeeds.
const DrawnCases& AllCases() {
  static const auto* drawn = [] {
    auto* all = new DrawnCases;
    for (uint64_t seed = 0; seed < kCaseSeeds; ++seed) {
      RandomCase one;
      one.net = DrawNet(seed, {}, &all->record);
      one.solver = DrawSolver(seed, one.net);
      one.traits = TraitsOf(one.net);
      all->cases.push_back(std::move(one));
    }
    return all;
  }();
  return *drawn;
}

double ShareOf(const std::function<bool(const RandomCase&)>& has) {
  const std::vector<RandomCase>& cases = AllCases().cases;
  const auto count = std::count_if(cases.begin(), cases.end(), has);
  return static_cast<double>(count) / static_cast<double>(cases.size());
}

// Works in a new folder while it lives, because paths of data begin with "data/".
class InNewFolder {
 public:
  InNewFolder() : before_(std::filesystem::current_path()) {
    std::string folder = testing::TempDir() + "/casesXXXXXX";
    EXPECT_NE(mkdtemp(&folder[0]), nullptr);
    std::filesystem::current_path(folder);
  }
  ~InNewFolder() { std::filesystem::current_path(before_); }

 private:
  const std::filesystem::path before_;
};

TEST(RandomCase, IsTheSameForTheSameSeed) {
  for (uint64_t seed = 0; seed < 30; ++seed)
    EXPECT_EQ(CaseText(DrawCase(seed)), CaseText(AllCases().cases[seed])) << seed;
}

TEST(RandomCase, DiffersFromSeedToSeed) {
  std::set<std::string> texts;
  for (const RandomCase& one : AllCases().cases) texts.insert(CaseText(one));
  EXPECT_EQ(texts.size(), kCaseSeeds);
}

TEST(RandomCase, DrawsTheSolverApartFromTheNet) {
  const NetParameter net = AllCases().cases[1].net;
  EXPECT_EQ(DrawSolver(1, net).DebugString(), AllCases().cases[1].solver.DebugString());
  EXPECT_NE(DrawSolver(2, net).DebugString(), AllCases().cases[1].solver.DebugString());
}

TEST(RandomCase, KeepsItsTextAndTraits) {
  for (const RandomCase& one : AllCases().cases) {
    const std::string text = CaseText(one);
    const RandomCase again = CaseFromText(text);
    EXPECT_EQ(CaseText(again), text);
    EXPECT_EQ(again.traits, one.traits) << text;
  }
}

TEST(RandomCase, ReadsTextWithOtherComments) {
  const RandomCase read = CaseFromText(
      "# threads: loss 1 differs\n"
      "# solver {\n"
      "#   max_iter: 3  # short\n"
      "# }\n"
      "# The net:\n"
      "name: 'n'\n"
      "layer { name: 'd' type: 'Dropout' bottom: 'x' top: 'y' }\n");
  EXPECT_EQ(read.solver.max_iter(), 3);
  EXPECT_EQ(read.net.name(), "n");
  EXPECT_EQ(read.traits, LayerRows::Get().Find("Dropout")->traits);
  EXPECT_NE(Mistake([] { CaseFromText("# solver {\n# max_itre: 3\n# }\n"); }).find(":2:"),
            std::string::npos);
}

// The files of all kinds of sources take long, so only some seeds get them.
TEST(RandomCase, HasGraphsInBothPhasesWithItsData) {
  const InNewFolder folder;
  for (size_t seed = 0; seed < 60; ++seed) {
    const NetParameter& net = AllCases().cases[seed].net;
    MakeDataFiles(net, "data");
    for (Phase phase : {TRAIN, TEST}) {
      EXPECT_EQ(MistakeIfAny([&] { GraphInPhase(net, phase); }), "")
          << Phase_Name(phase) << " of seed " << seed << "\n"
          << CaseText(AllCases().cases[seed]);
    }
  }
}

TEST(RandomCase, HasLegalSolvers) {
  const InNewFolder folder;
  for (size_t seed = 0; seed < kCaseSeeds; ++seed) {
    const RandomCase& one = AllCases().cases[seed];
    SolverParameter solver = one.solver;
    *solver.mutable_net_param() = one.net;
    WriteFileAtomically("solver.prototxt", solver.DebugString());
    const auto load = [&] {
      const SolverSpec spec = LoadSolver("solver.prototxt");
      CheckRule(spec.param, spec.places);
      LrPolicy(spec.param, spec.places, spec.param.max_iter());
    };
    EXPECT_EQ(MistakeIfAny(load), "") << seed << "\n" << one.solver.DebugString();
  }
}

TEST(RandomCase, IsOftenDeepWithBranchesAndSharedParameters) {
  EXPECT_GE(ShareOf([](const RandomCase& one) {
              const CaseFacts facts = FactsOf(one.net);
              return facts.layers >= 8 && facts.branches >= 2 && facts.shared >= 1;
            }),
            0.5);
}

TEST(RandomCase, IsVaried) {
  const auto facts = [](const auto& has) {
    return ShareOf([&](const RandomCase& one) { return has(FactsOf(one.net)); });
  };
  EXPECT_GE(facts([](const CaseFacts& f) { return f.losses >= 2; }), 0.3);
  EXPECT_GE(facts([](const CaseFacts& f) { return f.in_place >= 1; }), 0.5);
  EXPECT_GE(facts([](const CaseFacts& f) { return f.layers >= 15; }), 0.05);
  EXPECT_GE(facts([](const CaseFacts& f) { return f.layers < 8; }), 0.1);
  const auto layers = [](const auto& has) {
    return ShareOf([&](const RandomCase& one) {
      return std::any_of(one.net.layer().begin(), one.net.layer().end(), has);
    });
  };
  EXPECT_GE(layers([](const LayerParameter& layer) {
              return layer.bottom_size() > 0 && layer.include_size() + layer.exclude_size() > 0;
            }),
            0.3);
  EXPECT_GE(layers([](const LayerParameter& layer) { return layer.loss_weight_size() > 0; }), 0.3);
  EXPECT_GE(layers([](const LayerParameter& layer) {
              return std::any_of(
                  layer.param().begin(), layer.param().end(), [](const ParamSpec& param) {
                    return param.has_share_mode() && param.share_mode() == ParamSpec::PERMISSIVE;
                  });
            }),
            0.05);
}

// Relations say nothing about cases with some traits, so many cases must have none of these.
TEST(RandomCase, OftenHasNoneOfTheTraitsThatRelationsExclude) {
  const auto without = [](unsigned traits) {
    return ShareOf([=](const RandomCase& one) { return (one.traits & traits) == 0; });
  };
  EXPECT_GE(without(LayerRow::kNoOracle), 0.3);
  EXPECT_GE(without(LayerRow::kWholeBatch | LayerRow::kState), 0.3);
  EXPECT_GE(without(LayerRow::kRandom), 0.3);
  EXPECT_GE(without(LayerRow::kKinks | LayerRow::kJumps), 0.08);
}

// Every type of layers between data and losses, every loss and every score occurs, except those
// that are drawn only on demand.
TEST(RandomCase, HasEveryLayerType) {
  constexpr uint64_t kMostSeeds = 5000;
  std::set<std::string> missing;
  for (const std::string& type : LayerRows::Get().Names()) {
    const LayerRow& row = *LayerRows::Get().Find(type);
    if ((row.traits & LayerRow::kOutside) == 0 && row.place != LayerRow::kSource)
      missing.insert(type);
  }
  for (uint64_t seed = 0; seed < kMostSeeds && !missing.empty(); ++seed) {
    const NetParameter net = seed < kCaseSeeds ? AllCases().cases[seed].net : DrawNet(seed);
    for (const LayerParameter& layer : net.layer()) missing.erase(layer.type());
  }
  EXPECT_EQ(missing, std::set<std::string>());
}

// Rows of losses may add layers of other types before a loss, and ends of nets may be silenced.
TEST(RandomCase, UsesOnlyGivenTypesBeforeLosses) {
  const std::set<std::string> types = {"ReLU", "Convolution"};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const NetParameter net = DrawNet(seed, types);
    EXPECT_GT(FactsOf(net).layers, 0) << seed;
    const auto is_inner = [](const LayerParameter& layer) {
      const LayerRow* row = LayerRows::Get().Find(layer.type());
      return row != nullptr && row->place == LayerRow::kInner;
    };
    const auto first = std::find_if(net.layer().begin(), net.layer().end(), is_inner);
    ASSERT_NE(first, net.layer().end()) << seed;
    EXPECT_EQ(types.count(first->type()), 1u) << first->type();
  }
}

// Stand-ins for sources are no part of a case.
TEST(RandomCase, HasNoStandIns) {
  for (const RandomCase& one : AllCases().cases) {
    for (const LayerParameter& layer : one.net.layer())
      EXPECT_FALSE(NetDraft::IsStandIn(layer)) << layer.name();
  }
}

TEST(RandomCase, LearnsExceptOnPurpose) {
  const InNewFolder folder;
  int learning = 0, all = 0;
  for (size_t seed = 0; seed < 60; ++seed) {
    const NetParameter& net = AllCases().cases[seed].net;
    MakeDataFiles(net, "data");
    std::optional<Graph> graph;
    if (!MistakeIfAny([&] { graph = GraphInPhase(net, TRAIN); }).empty()) continue;
    ++all;
    learning += Learns(*graph);
  }
  EXPECT_GE(learning, all * 0.88);
}

// A backward that does not run is not tested.
TEST(RandomCase, ComputesTheGradientsOfMostLayers) {
  GradientCount all;
  for (const auto& [type, count] : AllCases().record.gradients) {
    all.layers += count.layers;
    all.computing += count.computing;
  }
  EXPECT_GE(all.computing, 0.75 * all.layers);
}

TEST(RandomCase, ProposesFewLayersThatAreRefused) {
  const DraftRecord& record = AllCases().record;
  std::map<std::string, std::pair<int, std::string>> by_type;
  for (const auto& [type, message] : record.refusals) {
    ++by_type[type].first;
    by_type[type].second = message;
  }
  std::string text;
  for (const auto& [type, refused] : by_type) {
    text += "\n  " + type + ", " + std::to_string(refused.first) +
            " times, for example: " + refused.second;
  }
  const double share = static_cast<double>(record.refusals.size()) /
                       static_cast<double>(std::max<int64_t>(1, record.proposals));
  EXPECT_LT(share, 0.15) << record.proposals << " proposals; refused:" << text;
}

}  // namespace
}  // namespace doppio
