#include "data/pipeline/pipeline.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/threads.h"
#include "data/source/open_source.h"
#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A source whose record i is one pixel of value i with label i.
class Numbers : public Source {
 public:
  explicit Numbers(int64_t size, int64_t bad = -1) : size_(size), bad_({bad}) {}
  Numbers(int64_t size, std::set<int64_t> bad) : size_(size), bad_(std::move(bad)) {}
  int64_t size() const override { return size_; }
  void Read(int64_t index, Record* record) const override {
    if (bad_.count(index) > 0) throw FileError("it is bad");
    record->float_storage.assign(1, static_cast<float>(index));
    record->pixels = {{1, 1, 1}, nullptr, record->float_storage.data(), false};
    record->labels.assign(1, static_cast<float>(index));
    // Delays some records, so that threads overtake each other.
    if (index % 5 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  std::string Name(int64_t index) const override { return "number " + std::to_string(index); }

 private:
  int64_t size_;
  std::set<int64_t> bad_;
};

std::unique_ptr<Pipeline> Make(std::unique_ptr<Source> source, const PipelineOptions& options,
                               const std::string& transform = "") {
  return std::make_unique<Pipeline>(std::move(source), Parse<TransformationParameter>(transform),
                                    TRAIN, options);
}

PipelineOptions Options(int batch, int threads = 1, bool shuffle = false) {
  PipelineOptions options;
  options.batch = batch;
  options.threads = threads;
  options.shuffle = shuffle;
  options.seed = 3;
  return options;
}

std::vector<float> Labels(Pipeline* pipeline, int batches) {
  std::vector<float> all;
  for (int i = 0; i < batches; ++i) {
    const Batch& batch = pipeline->Next();
    all.insert(all.end(), batch.labels.begin(), batch.labels.end());
  }
  return all;
}

std::vector<float> Data(const Pipeline& pipeline, const Batch& batch) {
  const auto samples = static_cast<int64_t>(batch.samples.size());
  std::vector<float> data(static_cast<size_t>(samples * batch.shape.count()));
  pipeline.Write(batch, 0, samples, data.data());
  return data;
}

std::vector<float> NextData(const std::unique_ptr<Pipeline>& pipeline) {
  return Data(*pipeline, pipeline->Next());
}

TEST(Pipeline, DeliversBatchesInOrderAndStartsOver) {
  const auto pipeline = Make(std::make_unique<Numbers>(5), Options(3));
  EXPECT_EQ(pipeline->samples().count, 5);
  EXPECT_EQ(pipeline->reader().label_count(), 1);
  EXPECT_EQ(pipeline->reader().data_shape(), (ImageShape{1, 1, 1}));
  EXPECT_EQ(pipeline->cursor().next_sample(), 0);
  const Batch& batch = pipeline->Next();
  EXPECT_EQ(batch.first_sample, 0);
  EXPECT_THAT(Data(*pipeline, batch), ElementsAre(0, 1, 2));
  EXPECT_THAT(batch.labels, ElementsAre(0, 1, 2));
  EXPECT_EQ(pipeline->cursor().next_sample(), 3);
  EXPECT_THAT(pipeline->Next().labels, ElementsAre(3, 4, 0));
  EXPECT_THAT(pipeline->Next().labels, ElementsAre(1, 2, 3));
}

TEST(Pipeline, GivesTheSameForAnyNumberOfThreads) {
  std::vector<std::vector<float>> data(3), labels(3);
  const int threads[] = {1, 2, 4};
  for (size_t i = 0; i < 3; ++i) {
    auto source = OpenSource(Parse<DataParameter>("backend: DIGITS size: 50"), TRAIN);
    PipelineOptions options = Options(7, threads[i], true);
    options.rand_skip = 20;
    const auto pipeline = Make(std::move(source), options, "mirror: true crop_size: 20");
    EXPECT_EQ(pipeline->threads(), threads[i]);
    for (int b = 0; b < 20; ++b) {
      const Batch& batch = pipeline->Next();
      const std::vector<float> values = Data(*pipeline, batch);
      data[i].insert(data[i].end(), values.begin(), values.end());
      labels[i].insert(labels[i].end(), batch.labels.begin(), batch.labels.end());
    }
  }
  for (size_t i = 1; i < 3; ++i) {
    EXPECT_EQ(data[i], data[0]);
    EXPECT_EQ(labels[i], labels[0]);
  }
}

// Records whose labels are 0, except for every seventh, whose label is 1.
class Unequal : public Numbers {
 public:
  using Numbers::Numbers;
  void Read(int64_t index, Record* record) const override {
    Numbers::Read(index, record);
    record->labels.assign(1, index % 7 == 6 ? 1.0F : 0.0F);
  }
};

PipelineOptions Balanced(int batch, int threads) {
  PipelineOptions options = Options(batch, threads, true);
  options.balance = true;
  return options;
}

TEST(Pipeline, TakesEveryClassEquallyOften) {
  std::vector<float> expected;
  for (const int threads : {1, 2, 4}) {
    const auto pipeline = Make(std::make_unique<Unequal>(20), Balanced(5, threads));
    EXPECT_EQ(pipeline->samples().count, 20);
    std::vector<float> values;
    for (int b = 0; b < 8; ++b) {
      const std::vector<float> more = NextData(pipeline);
      values.insert(values.end(), more.begin(), more.end());
    }
    const auto rare = [](float value) { return static_cast<int>(value) % 7 == 6; };
    EXPECT_EQ(std::count_if(values.begin(), values.end(), rare), 20);
    if (expected.empty()) expected = values;
    EXPECT_EQ(values, expected) << threads << " threads";
  }
  // Resumed, and divided among two ranks.
  const auto resumed = Make(std::make_unique<Unequal>(20), Balanced(5, 2));
  resumed->Seek(10);
  EXPECT_EQ(NextData(resumed), std::vector<float>(expected.begin() + 10, expected.begin() + 15));
  for (const int rank : {0, 1}) {
    const auto part = Make(std::make_unique<Unequal>(20), Balanced(5, 2));
    part->Shard(rank, 2);
    part->Next();
    const auto begin = expected.begin() + 10 + 5 * rank;
    EXPECT_EQ(NextData(part), std::vector<float>(begin, begin + 5)) << "rank " << rank;
  }
}

TEST(Pipeline, BalancesOnlyClasses) {
  class Regression : public Numbers {
   public:
    using Numbers::Numbers;
    void Read(int64_t index, Record* record) const override {
      Numbers::Read(index, record);
      record->labels = index == 3 ? std::vector<float>{0.5F} : std::vector<float>{1};
    }
  };
  EXPECT_EQ(
      MessageOf([] { Make(std::make_unique<Regression>(5), Balanced(2, 1)); }),
      "4: number 3: its label is 0.500000, but balance: true needs one whole number, the class; "
      "remove balance");
  EXPECT_THAT(MessageOf([] { Make(std::make_unique<Numbers>(5, 2), Balanced(2, 1)); }),
              HasSubstr("number 2: it is bad"));
  PipelineOptions tolerant = Balanced(4, 1);
  tolerant.bad_records = 1;
  const auto pipeline = Make(std::make_unique<Numbers>(5, 2), tolerant);
  std::vector<float> labels = pipeline->Next().labels;
  std::sort(labels.begin(), labels.end());
  EXPECT_THAT(labels, ElementsAre(0, 1, 3, 4));
}

TEST(Pipeline, ShufflesEachEpochDifferently) {
  const auto pipeline = Make(std::make_unique<Numbers>(12), Options(4, 2, true));
  std::vector<float> first = Labels(pipeline.get(), 3), second = Labels(pipeline.get(), 3);
  EXPECT_NE(first, second);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  EXPECT_THAT(first, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_EQ(first, second);
}

TEST(Pipeline, DrawsDifferentlyForAnotherSeedOrStream) {
  PipelineOptions options = Options(32, 1, true);
  const auto first = Make(std::make_unique<Numbers>(32), options);
  options.stream = 1;
  const auto other_stream = Make(std::make_unique<Numbers>(32), options);
  options.stream = 0;
  options.seed = 4;
  const auto other_seed = Make(std::make_unique<Numbers>(32), options);
  const std::vector<float> labels = first->Next().labels;
  EXPECT_NE(labels, other_stream->Next().labels);
  EXPECT_NE(labels, other_seed->Next().labels);
}

TEST(Pipeline, GoesOnFromAnySampleAsIfItHadRunThere) {
  const auto straight = Make(std::make_unique<Numbers>(10), Options(3, 2, true), "mirror: true");
  Labels(straight.get(), 5);
  const int64_t at = straight->cursor().next_sample();
  EXPECT_EQ(at, 15);
  const std::vector<float> expected = Labels(straight.get(), 6);

  const auto fresh = Make(std::make_unique<Numbers>(10), Options(3, 4, true), "mirror: true");
  fresh->Seek(at);
  EXPECT_EQ(fresh->cursor().next_sample(), at);
  EXPECT_EQ(Labels(fresh.get(), 6), expected);
  straight->Seek(at);  // backwards, while batches are being prepared
  EXPECT_EQ(Labels(straight.get(), 6), expected);
}

TEST(Pipeline, SharesOfAllRanksMakeUpTheStream) {
  const auto whole = Make(std::make_unique<Numbers>(11), Options(2, 2, true));
  std::vector<std::unique_ptr<Pipeline>> ranks;
  for (int rank = 0; rank < 3; ++rank) {
    ranks.push_back(Make(std::make_unique<Numbers>(11), Options(2, 1, true)));
    ranks.back()->Shard(rank, 3);
  }
  for (int round = 0; round < 6; ++round) {
    for (const auto& rank : ranks) {
      const int64_t sample = whole->cursor().next_sample();
      EXPECT_EQ(rank->cursor().next_sample(), sample);
      EXPECT_EQ(rank->Next().labels, whole->Next().labels) << "sample " << sample;
    }
  }
}

TEST(Pipeline, TakesAnotherShareFromWhereTheStreamIs) {
  const auto pipeline = Make(std::make_unique<Numbers>(100), Options(2));
  pipeline->Shard(1, 2);
  EXPECT_THAT(pipeline->Next().labels, ElementsAre(2, 3));
  pipeline->Shard(1, 2);
  EXPECT_THAT(pipeline->Next().labels, ElementsAre(6, 7));
  pipeline->Shard(0, 1);  // both ranks have taken two batches: 8 samples
  EXPECT_THAT(pipeline->Next().labels, ElementsAre(8, 9));
  pipeline->Seek(20);
  pipeline->Shard(2, 3);
  EXPECT_EQ(pipeline->cursor().next_sample(), 24);
  EXPECT_EQ(pipeline->cursor().position(), 20);
}

TEST(Pipeline, SkipsARandomNumberOfRecordsAtTheStart) {
  PipelineOptions options = Options(1);
  options.rand_skip = 50;
  const float first = Make(std::make_unique<Numbers>(100), options)->Next().labels[0];
  EXPECT_LT(first, 50);
  options.seed = 5;
  const float other = Make(std::make_unique<Numbers>(100), options)->Next().labels[0];
  EXPECT_NE(first, other);
}

TEST(Pipeline, DeliversTheBatchesBeforeABadRecordAndThenNamesIt) {
  for (int threads : {1, 4}) {
    const auto pipeline = Make(std::make_unique<Numbers>(100, 17), Options(5, threads));
    EXPECT_EQ(Labels(pipeline.get(), 3).back(), 14);
    for (int attempt = 0; attempt < 2; ++attempt) {
      EXPECT_EQ(MessageOf([&] { pipeline->Next(); }), "4: number 17: it is bad");
    }
    pipeline->Seek(20);
    EXPECT_EQ(pipeline->Next().labels[0], 20);
  }
}

TEST(Pipeline, NamesABadFirstRecordAtOnce) {
  EXPECT_EQ(MessageOf([] { Make(std::make_unique<Numbers>(9, 0), Options(2)); }),
            "4: number 0: it is bad");
}

TEST(Pipeline, PutsTheNextRecordInThePlaceOfABadOne) {
  std::vector<float> alone;
  for (int threads : {1, 4}) {
    PipelineOptions options = Options(5, threads, true);
    options.bad_records = 3;
    const auto pipeline = Make(std::make_unique<Numbers>(20, std::set<int64_t>{0, 7, 8}), options);
    const std::vector<float> labels = Labels(pipeline.get(), 8);  // two passes
    EXPECT_EQ(std::count(labels.begin(), labels.end(), 9), 6);    // record 9 also replaces 7 and 8
    EXPECT_EQ(std::count(labels.begin(), labels.end(), 1), 4);
    EXPECT_EQ(pipeline->reader().bad_records(), 3);
    if (threads == 1) alone = labels;
    EXPECT_EQ(labels, alone);
  }
}

TEST(Pipeline, LeavesOutNoMoreBadRecordsThanAllowed) {
  PipelineOptions options = Options(5);
  options.bad_records = 2;
  const auto pipeline = Make(std::make_unique<Numbers>(20, std::set<int64_t>{6, 7, 11}), options);
  EXPECT_THAT(Labels(pipeline.get(), 2), ElementsAre(0, 1, 2, 3, 4, 5, 8, 8, 8, 9));
  EXPECT_EQ(MessageOf([&] { pipeline->Next(); }),
            "4: one bad record more than may be skipped (2): number 11: it is bad");
}

TEST(Pipeline, LeavesOutNoSourceAsAWhole) {
  PipelineOptions options = Options(2);
  options.bad_records = 100;
  EXPECT_EQ(MessageOf([&] {
              Make(std::make_unique<Numbers>(2, std::set<int64_t>{0, 1}), options);
            }),
            "4: one bad record more than may be skipped (1): number 1: it is bad");
}

TEST(Pipeline, EndsWhileThreadsAreAtWork) {
  for (int i = 0; i < 50; ++i) {
    const auto pipeline = Make(std::make_unique<Numbers>(1000), Options(3, 4));
    if (i % 2 == 0) pipeline->Next();
  }
}

TEST(Pipeline, ReadsNoFurtherAheadThanAsked) {
  class Counting : public Numbers {
   public:
    Counting(std::atomic<int>* reads, const std::atomic<int>* most)
        : Numbers(1000), reads_(reads), most_(most) {}
    void Read(int64_t index, Record* record) const override {
      EXPECT_LE(++*reads_, *most_);
      Numbers::Read(index, record);
    }

   private:
    std::atomic<int>* const reads_;
    const std::atomic<int>* const most_;
  };
  std::atomic<int> reads{0}, most{1};
  PipelineOptions options = Options(2, 2);
  options.prefetch = 3;
  const auto pipeline = Make(std::make_unique<Counting>(&reads, &most), options);
  for (int batches = 1; batches <= 100; ++batches) {
    // The first record at the start, the batches that were returned, and three prefetched batches.
    most = 1 + batches * 2 + 3 * 2;
    pipeline->Next();
    while (reads < most) std::this_thread::yield();
  }
}

TEST(Pipeline, ReadsImagesOfAListAndNamesTheOneOfAnotherSize) {
  const std::string list = ScratchPath("list.txt"), root = ScratchPath("");
  WriteFile(ScratchPath("a.png"), Png(1, 2, 3, {1, 2, 3, 4, 5, 6}));
  WriteFile(ScratchPath("b.png"), Png(2, 2, 3, std::vector<int>(12, 9)));
  WriteFile(list, "a.png 1 0.5\nb.png 2 0.25\n");
  const std::string parameter = "source: '" + list + "' root_folder: '" + root + "'";
  auto open = [&](const std::string& more) {
    return OpenImageList(Parse<ImageDataParameter>(parameter + more));
  };
  const auto one = Make(open(""), Options(1));
  EXPECT_EQ(one->reader().data_shape(), (ImageShape{3, 1, 2}));
  EXPECT_EQ(one->reader().label_count(), 2);
  const Batch& batch = one->Next();
  EXPECT_THAT(Data(*one, batch), ElementsAre(3, 6, 2, 5, 1, 4));  // planes blue, green, red
  EXPECT_THAT(batch.labels, ElementsAre(1, 0.5));
  const auto both = Make(open(""), Options(2));
  EXPECT_EQ(
      MessageOf([&] { both->Next(); }),
      "4: image '" + root + "b.png' (" + list +
          ":2): it is 2x2 (height x width), but the first one is 1x2: images of one batch must be "
          "of one size; set new_height and new_width (ImageData), resize_param, or crop_size; or a "
          "batch_size of 1");
  PipelineOptions any = Options(1);
  any.any_size = true;
  const auto alone = Make(open(""), any);
  EXPECT_EQ(alone->Next().shape, (ImageShape{3, 1, 2}));
  EXPECT_EQ(alone->Next().shape, (ImageShape{3, 2, 2}));
  EXPECT_EQ(Data(*alone, alone->current()).size(), 12u);
  EXPECT_EQ(alone->reader().data_shape(), (ImageShape{3, 1, 2}));
  const auto resized = Make(open(" new_height: 4 new_width: 4"), Options(2));
  EXPECT_EQ(resized->reader().data_shape(), (ImageShape{3, 4, 4}));
  EXPECT_EQ(resized->Next().labels.size(), 4u);
  const auto cropped = Make(open(""), Options(2), "crop_size: 1");
  EXPECT_EQ(NextData(cropped).size(), 6u);
}

TEST(Pipeline, DecodesRecordsOfADatabase) {
  const std::string path = ScratchPath("db");
  WriteLmdb(path, {{"a", EncodedDatum(Png(1, 1, 3, {1, 2, 3}), 4)},
                   {"b", EncodedDatum(Png(1, 1, 3, {4, 5, 6}), 5)},
                   {"c", EncodedDatum("broken", 5)}});
  auto open = [&] {
    return OpenSource(Parse<DataParameter>("backend: LMDB source: '" + path + "'"), TRAIN);
  };
  EXPECT_THAT(NextData(Make(open(), Options(2))), ElementsAre(3, 2, 1, 6, 5, 4));
  EXPECT_EQ(Make(open(), Options(2), "force_gray: true")->reader().data_shape(),
            (ImageShape{1, 1, 1}));
  EXPECT_EQ(
      MessageOf([&] { Make(open(), Options(3))->Next(); }),
      "4: record 'c' of '" + path + "': it is not a JPEG, PNG, WebP, TIFF, GIF, BMP or PNM image");
  EXPECT_THAT(MessageOf([&] { Make(open(), Options(1), "crop_size: 2"); }),
              HasSubstr("record 'a' of '" + path + "': the crop 2x2 is larger than the image 1x1"));
}

TEST(Pipeline, ChoosesThreadsFromTheCoresAndTheCostOfARecord) {
  for (const auto& [cores, decoding, copying] :
       {std::tuple(1, 1, 1), std::tuple(2, 1, 1), std::tuple(8, 4, 2), std::tuple(15, 7, 3),
        std::tuple(64, 32, 4), std::tuple(200, 64, 4)}) {
    EXPECT_EQ(ChooseThreads(cores, true), decoding) << cores;
    EXPECT_EQ(ChooseThreads(cores, false), copying) << cores;
  }
  EXPECT_EQ(Make(std::make_unique<Numbers>(5), Options(3, 0))->threads(),
            ChooseThreads(RankCores(), false));
}

}  // namespace
}  // namespace doppio
