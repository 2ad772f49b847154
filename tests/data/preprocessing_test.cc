// Tests that data layers record how images become values, and that weight files keep the record.
#include "core/net/spec/preprocessing.h"
#include "data/augment/preprocessing.h"
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
            "channels: BGR height: 2 width: 2 scale: 1 keep_size: true");
  EXPECT_EQ(Recorded(Data("LMDB", ScratchPath("mixed")) +
                     "transform_param { crop_size: 2 resize_param { height: 3 width: 3 } }"),
            "channels: BGR resize_height: 3 resize_width: 3 height: 2 width: 2 scale: 1");
}

TEST(Preprocessing, FindsASecondSizeAmongFewImages) {
  const auto record = [](int side) {
    return EncodedDatum(Png(side, side, 1, std::vector<int>(static_cast<size_t>(side * side), 7)),
                        0);
  };
  KeysAndValues records;
  for (int i = 0; i < 16; ++i) records.push_back({std::to_string(10 + i), record(i == 3 ? 3 : 2)});
  WriteLmdb(ScratchPath("few"), records);
  EXPECT_EQ(Recorded(Data("LMDB", ScratchPath("few")) + "transform_param { crop_size: 2 }"),
            "channels: GRAY height: 2 width: 2 scale: 1 keep_size: true");
}

// Returns the record of encoded colour images of 28 x 28 pixels, without their channels.
std::string Of28(const std::string& transform) {
  SourceFacts facts;
  facts.channels = Preprocessing::BGR;
  facts.image = {3, 28, 28};
  facts.decode.emplace();
  Preprocessing record = DescribeImages(Parse<TransformationParameter>(transform), facts);
  record.clear_channels();
  record.clear_scale();
  return record.ShortDebugString();
}

std::string Sizes(int resize, int crop) {
  const std::string before = std::to_string(resize), after = std::to_string(crop);
  return "resize_height: " + before + " resize_width: " + before + " height: " + after +
         " width: " + after;
}

TEST(Preprocessing, HasAPadOnlyWhereTheCropShowsIt) {
  EXPECT_EQ(Of28("pad: 4 crop_size: 28"), Sizes(28, 28));
  EXPECT_EQ(Of28("pad: 4 crop_size: 20"), Sizes(28, 20));
  EXPECT_EQ(Of28("pad: 4 crop_size: 32"), Sizes(28, 32) + " changes { pad: 4 }");
  EXPECT_EQ(Of28("pad: 4"), Sizes(28, 36) + " changes { pad: 4 }");
  EXPECT_EQ(Of28("pad: 4 resize_param { height: 32 width: 32 } crop_size: 32"), Sizes(32, 32));
}

TEST(Preprocessing, HasResizesAsChangesUnlessTheyArePlain) {
  EXPECT_EQ(Of28("resize_param { height: 30 width: 30 prob: 0.5 interp_mode: LINEAR "
                 "interp_mode: AREA } crop_size: 28"),
            Sizes(30, 28));
  const std::string area = "resize_param { height: 30 width: 40 interp_mode: AREA }";
  EXPECT_EQ(Of28(area), "height: 30 width: 40 changes { " + area + " }");
  const std::string fit = "resize_param { resize_mode: FIT_SMALL_SIZE height: 30 width: 40 }";
  EXPECT_EQ(Of28(fit + " crop_size: 28"), "height: 28 width: 28 changes { " + fit + " }");
  EXPECT_EQ(Of28("random_aspect_ratio_param { min_area_ratio: 0.1 } crop_size: 20"), Sizes(20, 20));
  EXPECT_EQ(Of28("random_aspect_ratio_param { resize_param { height: 20 width: 20 } } " + area),
            "height: 30 width: 40 changes { " + area +
                " random_aspect_ratio_param { resize_param { height: 20 width: 20 } } }");
}

TEST(Preprocessing, HasTheMiddleOfRandomSizes) {
  EXPECT_EQ(Of28("random_resize_param { min_size: 30 max_size: 41 } crop_size: 28"),
            "height: 28 width: 28 changes { random_resize_param { min_size: 35 max_size: 35 } }");
  EXPECT_EQ(Of28("img_rand_resize_lower: 30 img_rand_resize_upper: 40 allow_upscale: true "
                 "rand_resize_ratio_lower: 1 rand_resize_ratio_upper: 2 crop_size: 28"),
            "height: 28 width: 28 changes { img_rand_resize_lower: 35 img_rand_resize_upper: 35 "
            "allow_upscale: true }");
}

TEST(Preprocessing, HasNothingRandom) {
  EXPECT_EQ(Of28("mirror: true rotation_param { max_degrees: 9 } shift_param { width: 0.1 } "
                 "cutout_param { size: 3 } distort_param { hue_prob: 1 } "
                 "expand_param { max_expand_ratio: 2 } vertical_stretch_upper: 2 crop_size: 20"),
            Sizes(28, 20));
  EXPECT_EQ(Of28("noise_param { prob: 0.3 jpeg: 30 }"), Sizes(28, 28));
  EXPECT_EQ(Of28("noise_param { saltpepper: true saltpepper_param { fraction: 0.1 } }"),
            Sizes(28, 28));
  EXPECT_EQ(Of28("noise_param { prob: 1 jpeg: 30 saltpepper: true }"),
            Sizes(28, 28) + " changes { noise_param { jpeg: 30 } }");
}

TEST(Preprocessing, OfWindowsHasTheScaleOfTheirParameter) {
  WriteFile(ScratchPath("a.png"), Png(2, 2, 3, std::vector<int>(12, 9)));
  WriteFile(ScratchPath("windows.txt"),
            "# 0 " + ScratchPath("a.png") + " 3 2 2 1\n5 0.9 0 0 1 1\n");
  EXPECT_EQ(
      Recorded("type: 'WindowData' window_data_param { source: '" + ScratchPath("windows.txt") +
               "' batch_size: 1 scale: 0.5 fg_fraction: 1 } transform_param { crop_size: 4 }"),
      "channels: BGR " + Sizes(4, 4) + " scale: 0.5");
}

std::string ForUseOf(const std::string& train, const std::string& test) {
  NetSource source;
  source.places =
      ParseText("layer { name: 'a' top: 'd' include { phase: TRAIN } " + train +
                    " } layer { name: 'b' top: 'd' include { phase: TEST } " + test + " }",
                "net.prototxt", &source.net);
  return DescribeForUse(source)->ShortDebugString();
}

TEST(Preprocessing, ForUseIsThatOfPhaseTestIfItReadsImages) {
  const std::string train =
      Data("CIFAR", "none") + "transform_param { pad: 4 crop_size: 40 mean_value: 7 }";
  EXPECT_EQ(ForUseOf(train, Data("CIFAR", "none") + "transform_param { crop_size: 30 }"),
            "channels: RGB " + Sizes(32, 30) + " scale: 1");
  EXPECT_EQ(ForUseOf(train, Data("LMDB", "none") + "transform_param { crop_size: 30 }"),
            "channels: RGB " + Sizes(32, 30) + " scale: 1");
  EXPECT_EQ(ForUseOf(train, "type: 'DummyData'"),
            "channels: RGB " + Sizes(32, 40) + " mean: 7 scale: 1 changes { pad: 4 }");
}

TEST(Preprocessing, HasTheMeansOfAMeanFilesChannels) {
  WriteMeanFile({{2, 1, 2}, {1, 2, 3, 5}}, ScratchPath("mean.binaryproto"));
  const std::string layer = Lmdb("a", RawDatum(2, 1, 2, {1, 2, 3, 4}, 0)) +
                            "transform_param { mean_file: '" + ScratchPath("mean.binaryproto") +
                            "' }";
  EXPECT_EQ(Recorded(layer),
            "channels: AS_IN_DATA resize_height: 1 resize_width: 2 height: 1 width: 2 mean: 1.5 "
            "mean: 4 mean_file: \"" +
                ScratchPath("mean.binaryproto") +
                "\" scale: 1 mean_image: 1 mean_image: 2 mean_image: 3 mean_image: 5");
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

TEST(Preprocessing, OfAMissingDatabaseHasTheSizeOfItsMean) {
  WriteMeanFile({{1, 2, 3}, {1, 2, 3, 4, 5, 6}}, ScratchPath("mean.binaryproto"));
  EXPECT_EQ(
      Described(Data("LMDB", "/gone/db") + "transform_param { crop_h: 2 crop_w: 1 mean_file: '" +
                ScratchPath("mean.binaryproto") + "' }"),
      "channels: AS_IN_DATA resize_height: 2 resize_width: 3 height: 2 width: 1 mean: 3.5 "
      "mean_file: \"" +
          ScratchPath("mean.binaryproto") + "\" scale: 1 mean_image: 2 mean_image: 5");
}

TEST(Preprocessing, OfANetsFileHoldsWhereNoLayerReadsImages) {
  NetParameter net;
  const FieldPlaces places = ParseText("preprocessing { channels: RGB scale: 2 }", "n", &net);
  const NetSpec spec = MakeNetSpec(net, places, NetState(), NetOptions());
  EXPECT_EQ(DescribePreprocessing(spec)->ShortDebugString(), "channels: RGB scale: 2");
}

}  // namespace
}  // namespace doppio
