// Tests that the sources of a group are ordered, skipped, divided and resumed together.
#include <algorithm>
#include <numeric>
#include <set>

#include "data/pipeline/order.h"
#include "tests/data/source_groups.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<double> UpTo(int count) {
  std::vector<double> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

// Expects `values` to be epochs of `count` records, each of which has every record once.
void ExpectEpochs(const std::vector<double>& values, int count) {
  for (size_t begin = 0; begin + static_cast<size_t>(count) <= values.size();
       begin += static_cast<size_t>(count)) {
    std::vector<double> epoch(values.begin() + static_cast<std::ptrdiff_t>(begin),
                              values.begin() + static_cast<std::ptrdiff_t>(begin) + count);
    std::sort(epoch.begin(), epoch.end());
    EXPECT_EQ(epoch, UpTo(count));
  }
}

// Writes images of one pixel, 0 to 7, as files. Returns a layer that lists them.
std::string ListLayer(const std::string& name, const std::string& param) {
  std::string list;
  for (int i = 0; i < 8; ++i) {
    const std::string file = name + std::to_string(i) + ".png";
    WriteFile(ScratchPath(file), Png(1, 1, 1, {i}));
    list += file + " 0\n";
  }
  WriteFile(ScratchPath(name + ".txt"), list);
  return "layer { name: '" + name + "' type: 'ImageData' top: '" + name +
         "' image_data_param { is_color: false root_folder: '" + ScratchPath("") + "' source: '" +
         ScratchPath(name + ".txt") + "' " + param + " } }\n";
}

TEST(SourceGroups, ShuffleTogetherIfOneSourceShuffles) {
  const std::string batch = "batch_size: 3", shuffled = batch + " shuffle: true";
  const std::vector<std::pair<std::string, std::string>> nets = {
      {NumbersLayer("a", 8, shuffled) + NumbersLayer("b", 8, shuffled), "b"},
      {NumbersLayer("a", 8, batch) + NumbersLayer("b", 8, shuffled), "b"},
      {NumbersLayer("a", 8, shuffled) + ListLayer("b", batch), "b"},
      {NumbersLayer("a", 8, batch) + RowsLayer("b", {8}, shuffled), "rows"},
      {NumbersLayer("a", 8, shuffled) + RowsLayer("b", {3, 1, 4}, batch), "rows"},
      {NumbersLayer("a", 8, batch) + NumbersLayer("b", 8, shuffled + " balance: true"), "b"},
      {NumbersLayer("a", 8, shuffled + " balance: true") + RowsLayer("b", {3, 1, 4}, batch),
       "rows"}};
  for (const auto& [layers, other] : nets) {
    SourcesNet net(layers), same(layers);
    ExpectPairs(&net, "a", other, 11);
    const std::vector<double> values = same.Next("a", 8);
    EXPECT_NE(std::vector<double>(values.begin(), values.begin() + 8), UpTo(8)) << layers;
    ExpectEpochs(values, 8);
  }
}

TEST(SourceGroups, ShuffleFilesOfOtherLimitsTogether) {
  const std::string param = "batch_size: 4 shuffle: true";
  SourcesNet net(RowsLayer("a", {3, 1, 4}, param) + NumbersLayer("n", 8, "batch_size: 4"));
  ExpectPairs(&net, "rows", "n", 9);
  // The files {3, 1, 4} and {4, 4} have the limit 4 in common.
  SampleSet one, two;
  one.count = two.count = 8;
  one.blocks = {3, 1, 4};
  two.blocks = {4, 4};
  Graph graph =
      MakeTestGraph(NumbersLayer("x", 8, param) + NumbersLayer("y", 8, param), DataMode::kAssume);
  graph.nodes[0].shape.samples = one;
  graph.nodes[1].shape.samples = two;
  EXPECT_THAT(FindSampleGroups(graph)[0].rule.blocks, ElementsAre(4, 4));
  two.blocks = {5, 3};
  graph.nodes[1].shape.samples = two;
  EXPECT_THAT(FindSampleGroups(graph)[0].rule.blocks, ElementsAre(8));
}

TEST(SourceGroups, ShuffleFilesOfDifferentLengths) {
  const std::string param = "batch_size: 3 shuffle: true";
  for (const std::vector<int>& files : {std::vector<int>{8}, {3, 5}, {5, 3}, {1, 7}}) {
    SourcesNet net(RowsLayer("a", {3, 5}, param) + RowsLayer("b", files, param, "others"));
    ExpectPairs(&net, "rows", "others", 9);
  }
}

TEST(SourceGroups, DrawTheSameInAnyOrderOfTheLayers) {
  const std::string a = NumbersLayer("a", 8, "batch_size: 3 shuffle: true");
  const std::string b = NumbersLayer("b", 8, "batch_size: 3 rand_skip: 5");
  SourcesNet one(a + b), other(b + a);
  EXPECT_EQ(one.Next("a", 6), other.Next("a", 6));
}

TEST(SourceGroups, SkipTheSameSamplesAtTheStart) {
  for (const char* skips : {"a", "b"}) {
    const auto param = [&](const std::string& name) {
      return std::string("batch_size: 3") + (name == skips ? " rand_skip: 100" : "");
    };
    SourcesNet net(NumbersLayer("a", 8, param("a")) + NumbersLayer("b", 8, param("b")) +
                   RowsLayer("c", {5, 3}, "batch_size: 3"));
    net->Forward();
    EXPECT_NE(net.Values("a")[0], 0);
    EXPECT_EQ(net.Values("a"), net.Values("rows"));
    ExpectPairs(&net, "a", "b", 5);
  }
}

TEST(SourceGroups, LeaveASourceAloneAsItWas) {
  // Stream("data", layer) and the purpose are the key of an order, the epoch that of a permutation.
  const std::string param = "batch_size: 4 shuffle: true";
  const auto expected = [](const std::string& purpose, uint64_t key) {
    std::vector<double> order;
    for (int i = 0; i < 8; ++i) {
      const Random random(9, Stream("data", "a") ^ Stream(purpose));
      order.push_back(static_cast<double>(Permutation(random, key, 8).At(i)));
    }
    return order;
  };
  for (const std::string& layer : {NumbersLayer("a", 8, param), ListLayer("a", param)}) {
    SourcesNet net(layer);
    EXPECT_EQ(net.Next("a", 2), expected("shuffle", 0));
    EXPECT_EQ(net.Next("a", 2), expected("shuffle", 1));
  }
  SourcesNet rows(RowsLayer("a", {8}, param));
  EXPECT_EQ(rows.Next("rows", 2), expected("hdf5", 1));
  EXPECT_EQ(rows.Next("rows", 2), expected("hdf5", 3));
}

TEST(SourceGroups, ExcludeSourcesOfOtherSizesOrBatchesAndIndependentOnes) {
  const std::string shuffled = "shuffle: true batch_size: ";
  const std::string a = NumbersLayer("a", 8, shuffled + "4");
  for (const std::string& other :
       {NumbersLayer("b", 8, shuffled + "2"), NumbersLayer("b", 7, shuffled + "4"),
        NumbersLayer("b", 8, shuffled + "4", "independent: true")}) {
    SourcesNet both(a + other), alone(a), apart(other);
    EXPECT_EQ(both.Next("a", 4), alone.Next("a", 4));
    SourcesNet again(a + other);
    EXPECT_EQ(again.Next("b", 4), apart.Next("b", 4));
  }
}

TEST(SourceGroups, GiveAllRanksTheirShares) {
  const std::string layers =
      NumbersLayer("a", 8, "batch_size: 2 shuffle: true") + RowsLayer("b", {3, 5}, "batch_size: 2");
  SourcesNet whole(layers), first(layers), second(layers);
  first->pass().ranks = second->pass().ranks = 2;
  second->pass().rank = 1;
  for (int i = 0; i < 6; ++i) {
    for (SourcesNet* rank : {&first, &second}) {
      (*rank)->Forward();
      EXPECT_EQ(rank->Values("a"), rank->Values("rows"));
      whole->Forward();
      EXPECT_EQ(rank->Values("a"), whole.Values("a"));
    }
  }
}

TEST(SourceGroups, GoOnFromAnySample) {
  const std::string layers = NumbersLayer("a", 8, "batch_size: 3 shuffle: true rand_skip: 9") +
                             RowsLayer("b", {3, 5}, "batch_size: 3");
  SourcesNet straight(layers);
  for (int passes = 1; passes < 7; ++passes) {
    straight->Forward();
    SourcesNet fresh(layers);
    for (int node : {0, 1})
      SourceOf(fresh.kernel(node))->Seek(SourceOf(straight.kernel(node))->position());
    SourcesNet more(layers);
    for (int node : {0, 1})
      SourceOf(more.kernel(node))->Seek(SourceOf(straight.kernel(node))->position());
    ExpectPairs(&fresh, "a", "rows", 4);
    SourcesNet whole(layers);
    const std::vector<double> all = whole.Next("a", passes + 4);
    EXPECT_EQ(more.Next("a", 4), std::vector<double>(all.end() - 12, all.end()));
  }
}

// Returns a layer with the images 0, 1, 2 and so on, of which those in `bad` cannot be read.
std::string DamagedLayer(const std::string& name, int count, const std::set<int>& bad,
                         const std::string& param) {
  KeysAndValues records;
  for (int i = 0; i < count; ++i) {
    records.push_back(
        {std::to_string(100 + i), bad.count(i) > 0 ? "no record" : RawDatum(1, 1, 1, {i}, i)});
  }
  return RecordsLayer(name, records, param);
}

TEST(SourceGroups, LeaveABadRecordOutOfAllSources) {
  const std::string param = "batch_size: 4";
  for (const char* shuffle : {"", " shuffle: true"}) {
    const std::string damaged = DamagedLayer("a", 8, {2}, param + shuffle) +
                                DamagedLayer("b", 8, {2, 7}, param) +
                                RowsLayer("c", {2, 1, 5}, param);
    SourcesNet net(damaged, 2);
    std::vector<double> seen;
    for (int i = 0; i < 6; ++i) {
      net->Forward();
      EXPECT_EQ(net.Values("a"), net.Values("b"));
      EXPECT_EQ(net.Values("a"), net.Values("rows"));
      for (double value : net.Values("a")) seen.push_back(value);
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 2) + std::count(seen.begin(), seen.end(), 7), 0);
    // 3 and 0 replace 2 and 7 in each of three epochs.
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 3), 6);
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 0), 6);
    EXPECT_EQ(SourceOf(net.kernel(0))->bad_records() + SourceOf(net.kernel(1))->bad_records(), 2);
    SourcesNet strict(damaged, 0);
    EXPECT_THROW(strict.Next("a", 2), Error);
  }
}

TEST(SourceGroups, SayWhenNoRecordIsLeft) {
  const std::string layers = DamagedLayer("a", 4, {1, 3}, "batch_size: 2") +
                             DamagedLayer("b", 4, {2}, "batch_size: 2") +
                             DamagedLayer("c", 4, {0}, "batch_size: 2");
  SourcesNet net(layers, 3);
  EXPECT_THAT(MessageOf([&] { net->Forward(); }),
              testing::HasSubstr("no record is left that all sources of the group can use"));
}

TEST(SourceGroups, DrawTheSameWindows) {
  WriteFile(ScratchPath("w.png"),
            Png(4, 4, 1, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
  WriteFile(ScratchPath("w.txt"), "# 0 " + ScratchPath("w.png") +
                                      " 1 4 4 5\n1 0.9 0 0 1 1\n2 0.9 1 1 2 2\n3 0.9 2 2 3 3\n"
                                      "4 0.1 0 2 1 3\n5 0.1 2 0 3 1\n");
  const auto layer = [&](const std::string& name) {
    return "layer { name: '" + name + "' type: 'WindowData' top: '" + name + "' top: '" + name +
           "_label' transform_param { crop_size: 2 mirror: true } window_data_param { batch_size: "
           "6 "
           "source: '" +
           ScratchPath("w.txt") + "' } }\n";
  };
  SourcesNet net(layer("a") + layer("b"));
  ExpectPairs(&net, "a", "b", 3);
  ExpectPairs(&net, "a_label", "b_label", 3);
}

TEST(SourceGroups, NameSourcesOfDifferentSizes) {
  const std::string a = NumbersLayer("a", 8, "batch_size: 4");
  const std::vector<std::string> sizes = WarningsAbout(a + RowsLayer("b", {7}, "batch_size: 4") +
                                                       NumbersLayer("c", 8, "batch_size: 4"));
  ASSERT_EQ(sizes.size(), 1u);
  EXPECT_THAT(sizes[0], testing::StartsWith(
                            "layers 'a' and 'c' have 8 samples in batches of 4; layer 'b' has 7 "
                            "samples in batches of 4: sources that differ in these numbers are "
                            "read independently, as in Caffe"));
  EXPECT_EQ(WarningsAbout(a + NumbersLayer("b", 8, "batch_size: 2")).size(), 1u);
  EXPECT_THAT(WarningsAbout(a + NumbersLayer("b", 7, "batch_size: 4", "independent: true")),
              IsEmpty());
  EXPECT_THAT(WarningsAbout(a + NumbersLayer("b", 8, "batch_size: 4")), IsEmpty());
  Graph graph =
      MakeTestGraph(NumbersLayer("s", 8, "batch_size: 4", "independent: true"), DataMode::kAssume);
  graph.nodes[0].bottoms = {0};
  graph.nodes[0].shape.samples.reset();
  ASSERT_EQ(SampleWarnings(graph).size(), 1u);
  EXPECT_EQ(SampleWarnings(graph)[0].message,
            "layer 's': independent has no effect, because the layer is not a source of samples");
}

TEST(SourceGroups, AreNamedInTheLog) {
  const std::string layers =
      NumbersLayer("a", 8, "batch_size: 4 shuffle: true") + NumbersLayer("b", 8, "batch_size: 4");
  EXPECT_THAT(SampleNotes(MakeTestGraph(layers, DataMode::kOpen)),
              ElementsAre("Sample i of layers 'a' and 'b' is one sample of 8: they are read in one "
                          "order, shuffled, and moved alike"));
}

}  // namespace
}  // namespace doppio
