// Tests messages about layers that include and exclude rules leave out of a net.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/net/graph/find_blob.h"
#include "core/net/graph/graph.h"
#include "tests/testing/layer_case.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

constexpr char kReader[] = "layer { name: 'r' type: 'ReLU' bottom: 'x' top: 'r' }\n";

std::string Source(const std::string& rules) {
  return "layer { name: 'd' type: 'TestInput' top: 'x' input_param { shape { dim: 2 } } " + rules +
         " }\n";
}

// Returns the mistake of a net whose reader lacks the blob of a layer with these rules.
std::string Lacks(const std::string& rules, Phase phase) {
  return Mistake([&] { GraphFromText(Source(rules) + kReader, phase); });
}

TEST(LeftOutLayer, IsNamedWhereItsBlobIsMissing) {
  EXPECT_EQ(
      Lacks("include { phase: TRAIN }", TEST),
      "net.prototxt:2:32: in the TEST net: layer 'r': bottom 'x' is not produced by any layer "
      "above; layer 'd' (line 1) produces it, but it is included only in TRAIN; add one for "
      "TEST");
  EXPECT_THAT(
      Lacks("exclude { phase: TRAIN }", TRAIN),
      HasSubstr("in the TRAIN net: layer 'r': bottom 'x' is not produced by any layer above; "
                "layer 'd' (line 1) produces it, but it is excluded in TRAIN; add one for "
                "TRAIN"));
}

TEST(LeftOutLayer, LacksTheStageOrLevelThatTheMessageNames) {
  EXPECT_THAT(
      Lacks("include { stage: 'one' }", TRAIN),
      EndsWith("but it is included only with stage 'one', and this net has no stage; --stage "
               "and --level, or the solver's train_state, set them"));
  EXPECT_THAT(
      Lacks("include { phase: TEST stage: 'one' stage: 'two' }", TEST),
      EndsWith("but it is included only in TEST with stage 'one' with stage 'two', and this "
               "net has no stage; the solver's test_state sets them; --stage and --level do "
               "so for a net without a solver"));
  EXPECT_THAT(Lacks("include { min_level: 2 }", TRAIN),
              HasSubstr("but it is included only from level 2, and this net has level 0; --stage"));
  EXPECT_THAT(Lacks("include { max_level: -1 }", TRAIN),
              HasSubstr("but it is included only up to level -1, and this net has level 0;"));
  EXPECT_THAT(Lacks("exclude { not_stage: 'one' }", TRAIN),
              HasSubstr("but it is excluded without stage 'one', and this net has no stage;"));
  EXPECT_THAT(Lacks("include { phase: TRAIN } include { phase: TEST stage: 'one' }", TEST),
              HasSubstr("included only in TRAIN or in TEST with stage 'one', and this net has no "
                        "stage; the solver's test_state"));
}

TEST(LeftOutLayer, IsThatOfThePhaseIfThereAreSeveral) {
  const std::string text = Mistake([&] {
    GraphFromText(
        Source("include { phase: TRAIN }") +
            "layer { name: 'e' type: 'TestInput' top: 'x' input_param { shape { dim: 2 } } "
            "include { phase: TEST stage: 'one' } }\n" +
            kReader,
        TEST);
  });
  EXPECT_THAT(text,
              HasSubstr("layer 'e' (line 2) produces it, but it is included only in TEST with"));
}

TEST(LeftOutLayer, MayBeEveryLayer) {
  EXPECT_EQ(Mistake([&] { GraphFromText(Source("include { phase: TRAIN }"), TEST); }),
            "net.prototxt: in the TEST net: there is no layer; rules leave out all 1, such as "
            "layer 'd' (line 1): it is included only in TRAIN; add one for TEST");
  EXPECT_THAT(Mistake([&] { GraphFromText("name: 'n'"); }), EndsWith("the net has no layers"));
}

TEST(LeftOutLayer, IsNamedForABlobThatACommandAsksFor) {
  const Graph graph = GraphFromText(
      Source("") +
          "layer { name: 'r' type: 'ReLU' bottom: 'x' top: 'r' include { phase: TRAIN } }\n",
      TEST);
  EXPECT_EQ(Mistake([&] { FindBlob(graph, "r"); }),
            "the net has no blob 'r'; layer 'r' (line 2) produces it, but it is included only in "
            "TRAIN; add one for TEST");
}

TEST(LeftOutLayer, IsNamedForARuleOfPlacement) {
  NetParameter net;
  const FieldPlaces places =
      ParseText(Source("") +
                    "layer { name: 'z' type: 'ReLU' bottom: 'x' top: 'z' include { "
                    "phase: TEST } }",
                "net.prototxt", &net);
  NetOptions options;
  options.place = {{"z", "cpu:0"}};
  NetState state;
  state.set_phase(TRAIN);
  EXPECT_EQ(Mistake([&] { MakeGraph(MakeNetSpec(net, places, state, options)); }),
            "--place: the pattern 'z' matches no layer of the net; layer 'z' is left out: it is "
            "included only in TEST; add one for TRAIN");
}

TEST(NetOfTwoPhases, NamesItsPhaseInEveryMistake) {
  const std::string wrong =
      "layer { name: 'p' type: 'Pooling' bottom: 'x' top: 'p' pooling_param { kernel_size: 2 } }\n";
  for (const char* rule : {"include { phase: TEST }", "exclude { phase: TRAIN }"}) {
    EXPECT_THAT(Mistake([&] { GraphFromText(Source(rule) + wrong, TEST); }),
                HasSubstr("in the TEST net: layer 'p': "))
        << rule;
  }
  EXPECT_THAT(Mistake([&] { GraphFromText(Source("") + wrong, TEST); }), Not(HasSubstr(" net: ")));
}

}  // namespace
}  // namespace doppio
