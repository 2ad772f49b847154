// Tests that data layers record how images become values, and that weight files keep the record.
#include "core/net/spec/preprocessing.h"
#include "data/augment/mean_file.h"
#include "tests/data/data_net.h"

namespace doppio {
namespace {

std::string Recorded(const std::string& layer) {
  const Graph graph =
      MakeTestGraph("layer { name: 'input' top: 'd' " + layer + " }", DataMode::kOpen);
  return graph.preprocessing ? graph.preprocessing->ShortDebugString() : "nothing";
}

std::string Described(const std::string& layer) {
  NetParameter net;
  const FieldPlaces places =
      ParseText("layer { name: 'input' top: 'd' " + layer + " }", "net.prototxt", &net);
  return DescribePreprocessing(MakeNetSpec(net, places, NetState(), NetOptions()))
      ->ShortDebugString();
}

std::string Data(const std::string& backend, const std::string& path) {
  return "type: 'Data' data_param { batch_size: 1 backend: " + backend + " source: '" + path +
         "' } ";
}

std::string Lmdb(const std::string& key, const std::string& datum) {
  const std::string path = ScratchPath("db_" + key.substr(0, 10));
  WriteLmdb(path, {{key, datum}});
  return Data("LMDB", path);
}

std::string Planes(int channels, int side) {
  return RawDatum(channels, side, side,
                  std::vector<int>(static_cast<size_t>(channels * side * side), 7), 0);
}

TEST(Preprocessing, OfCifarIsRedFirstWithItsClassNames) {
  WriteFile(ScratchPath("data_batch_1.bin"), std::string(3073, '\1'));
  WriteFile(ScratchPath("batches.meta.txt"), "airplane\nautomobile\n\n");
  EXPECT_EQ(Recorded(Data("CIFAR", ScratchPath("")) +
                     "transform_param { mean_value: [125, 123, 114] scale: 0.5 crop_size: 28 }"),
            "channels: RGB resize_height: 32 resize_width: 32 height: 28 width: 28 mean: 125 "
            "mean: 123 mean: 114 scale: 0.5 class_name: \"airplane\" class_name: \"automobile\"");
}

TEST(Preprocessing, OfImageFilesIsBlueFirst) {
  WriteFile(ScratchPath("a.png"), Png(2, 3, 3, std::vector<int>(18, 9)));
  WriteFile(ScratchPath("list.txt"), "a.png 0\n");
  WriteFile(ScratchPath("labels.txt"), "cat\n");
  const auto layer = [](const std::string& more) {
    return "type: 'ImageData' image_data_param { batch_size: 1 source: '" +
           ScratchPath("list.txt") + "' root_folder: '" + ScratchPath("") + "' " + more + " } ";
  };
  EXPECT_EQ(Recorded(layer("new_height: 6 new_width: 8") + "transform_param { crop_size: 4 }"),
            "channels: BGR resize_height: 6 resize_width: 8 height: 4 width: 4 scale: 1 "
            "class_name: \"cat\"");
  EXPECT_EQ(Recorded(layer("is_color: false")),
            "channels: GRAY resize_height: 2 resize_width: 3 height: 2 width: 3 scale: 1 "
            "class_name: \"cat\"");
}

TEST(Preprocessing, OfADatabaseComesFromTheKeysOfCaffesTools) {
  const std::string sizes = " resize_height: 32 resize_width: 32 height: 32 width: 32 scale: 1";
  EXPECT_EQ(Recorded(Lmdb("00000", Planes(3, 32))), "channels: RGB" + sizes);
  EXPECT_EQ(Recorded(Lmdb("00000000_cats/a.jpg", Planes(3, 32))), "channels: BGR" + sizes);
  EXPECT_EQ(Recorded(Lmdb("sample", Planes(3, 32))), "channels: AS_IN_DATA" + sizes);
  EXPECT_EQ(Recorded(Lmdb("00000", Planes(1, 32))), "channels: GRAY" + sizes);
  EXPECT_EQ(Recorded(Lmdb("00000", Planes(3, 8))),
            "channels: AS_IN_DATA resize_height: 8 resize_width: 8 height: 8 width: 8 scale: 1");
}

TEST(Preprocessing, OfEncodedImagesOfSeveralSizesHasNoSizeBeforeTheCrop) {
  const auto record = [](int side) {
    return EncodedDatum(
        Png(side, side, 3, std::vector<int>(static_cast<size_t>(3 * side * side), 7)), 0);
  };
  const std::string crop = "transform_param { crop_size: 2 }";
  WriteLmdb(ScratchPath("alike"), {{"a", record(4)}, {"b", record(4)}});
  EXPECT_EQ(Recorded(Data("LMDB", ScratchPath("alike")) + crop),
            "channels: BGR resize_height: 4 resize_width: 4 height: 2 width: 2 scale: 1");
  WriteLmdb(ScratchPath("mixed"), {{"a", record(4)}, {"b", record(5)}});
  EXPECT_EQ(Recorded(Data("LMDB", ScratchPath("mixed")) + crop),
            "channels: BGR height: 2 width: 2 scale: 1");
  EXPECT_EQ(Recorded(Data("LMDB", ScratchPath("mixed")) +
                     "transform_param { crop_size: 2 resize_param { height: 3 width: 3 } }"),
            "channels: BGR resize_height: 3 resize_width: 3 height: 2 width: 2 scale: 1");
}

TEST(Preprocessing, HasTheMeansOfAMeanFilesChannels) {
  WriteMeanFile({{2, 1, 2}, {1, 2, 3, 5}}, ScratchPath("mean.binaryproto"));
  const std::string layer = Lmdb("a", RawDatum(2, 1, 2, {1, 2, 3, 4}, 0)) +
                            "transform_param { mean_file: '" + ScratchPath("mean.binaryproto") +
                            "' }";
  EXPECT_EQ(Recorded(layer),
            "channels: AS_IN_DATA resize_height: 1 resize_width: 2 height: 1 width: 2 mean: 1.5 "
            "mean: 4 mean_file: \"" +
                ScratchPath("mean.binaryproto") + "\" scale: 1");
  EXPECT_EQ(Described(layer), Recorded(layer));
}

TEST(Preprocessing, IsDescribedByTheLayerWithoutTheSource) {
  EXPECT_EQ(Described(Data("CIFAR", "none")),
            "channels: RGB resize_height: 32 resize_width: 32 height: 32 width: 32 scale: 1");
  EXPECT_EQ(Described(Data("LMDB", "none") +
                      "transform_param { mean_file: 'none' scale: 0.5 crop_size: 5 }"),
            "channels: AS_IN_DATA height: 5 width: 5 "
            "mean_file: \"none\" scale: 0.5");
}

TEST(Preprocessing, OfAMissingDatabaseNamedAsBvlcsScriptDoesIsRedFirst) {
  EXPECT_EQ(Described(Data("LMDB", "/gone/cifar10_train_lmdb")), "channels: RGB scale: 1");
  EXPECT_EQ(Described(Data("LMDB", "/gone/my_cifar10_train_lmdb")),
            "channels: AS_IN_DATA scale: 1");
}

TEST(Preprocessing, OfANetsFileHoldsWhereNoLayerReadsImages) {
  NetParameter net;
  const FieldPlaces places = ParseText("preprocessing { channels: RGB scale: 2 }", "n", &net);
  const NetSpec spec = MakeNetSpec(net, places, NetState(), NetOptions());
  EXPECT_EQ(DescribePreprocessing(spec)->ShortDebugString(), "channels: RGB scale: 2");
}

}  // namespace
}  // namespace doppio
