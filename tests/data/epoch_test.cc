// Tests that any number of ranks reads each sample once per epoch, in every kind of source, with
// data sets as large as MNIST.
#include <hdf5.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <numeric>

#include "data/pipeline/pipeline.h"
#include "data/source/hdf5.h"
#include "data/source/open_source.h"
#include "tests/data/tiny_data.h"

namespace doppio {
namespace {

constexpr int64_t kSize =
    // The size of MNIST's training part; not a multiple of what 7 ranks read per iteration.
    60000;
constexpr int kBatch = 64;

// Returns the labels that `ranks` ranks read in the first `samples` samples of the stream, in the
// stream's order. next(rank) returns a rank's next batch.
template <class F>
std::vector<float> Merge(int ranks, int64_t samples, const F& next) {
  std::vector<float> all;
  while (static_cast<int64_t>(all.size()) < samples) {
    for (int rank = 0; rank < ranks; ++rank) {
      const std::vector<float> labels = next(rank);
      all.insert(all.end(), labels.begin(), labels.end());
    }
  }
  all.resize(static_cast<size_t>(samples));
  return all;
}

// Record i has label i. Checks that the stream does not depend on the number of ranks, and that it
// has each record once in each of two epochs.
template <class F>
void ExpectEachOncePerEpoch(bool shuffled, const F& stream) {
  std::vector<float> expected(kSize);
  std::iota(expected.begin(), expected.end(), 0.0f);
  const std::vector<float> whole = stream(1, 2 * kSize);
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::vector<float> seen(whole.begin() + epoch * kSize, whole.begin() + (epoch + 1) * kSize);
    EXPECT_EQ(seen != expected, shuffled);
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(seen, expected) << "epoch " << epoch;
  }
  for (int ranks : {2, 3, 7})
    EXPECT_EQ(stream(ranks, kSize), std::vector<float>(whole.begin(), whole.begin() + kSize))
        << ranks;
}

void ExpectEachOncePerEpochOf(const std::function<std::unique_ptr<Source>()>& open, bool shuffle) {
  ExpectEachOncePerEpoch(shuffle, [&](int ranks, int64_t samples) {
    std::vector<std::unique_ptr<Pipeline>> pipelines;
    for (int rank = 0; rank < ranks; ++rank) {
      PipelineOptions options;
      options.batch = kBatch;
      options.threads = 1;
      options.shuffle = shuffle;
      options.seed = 3;
      pipelines.push_back(
          std::make_unique<Pipeline>(open(), TransformationParameter(), TRAIN, options));
      pipelines.back()->Shard(rank, ranks);
    }
    return Merge(ranks, samples,
                 [&](int rank) { return pipelines[static_cast<size_t>(rank)]->Next().labels; });
  });
}

TEST(Epoch, OfAnLmdbHasEachSampleOnce) {
  KeysAndValues records;
  for (int i = 0; i < kSize; ++i) {
    char key[16];
    std::snprintf(key, sizeof key, "%08d", i);
    records.emplace_back(key, RawDatum(1, 1, 1, {i % 256}, i));
  }
  const std::string path = ScratchPath("lmdb");
  WriteLmdb(path, records);
  for (bool shuffle : {false, true}) {
    ExpectEachOncePerEpochOf(
        [&] {
          return OpenSource(Parse<DataParameter>("backend: LMDB source: '" + path + "'"), TRAIN);
        },
        shuffle);
  }
}

TEST(Epoch, OfAnImageListHasEachSampleOnce) {
  std::string lines;
  const std::string image = ScratchPath("one.png");
  WriteFile(image, Png(1, 1, 1, {7}));
  for (int64_t i = 0; i < kSize; ++i) lines += image + " " + std::to_string(i) + "\n";
  WriteFile(ScratchPath("list.txt"), lines);
  const auto param =
      Parse<ImageDataParameter>("source: '" + ScratchPath("list.txt") + "' is_color: false");
  ExpectEachOncePerEpochOf([&] { return OpenImageList(param); }, true);
}

TEST(Epoch, OfHdf5FilesHasEachSampleOnce) {
  // Three files whose sizes are not multiples of the batch size.
  std::string list;
  int64_t first = 0;
  for (int64_t end : {int64_t{12345}, int64_t{50001}, kSize}) {
    std::vector<float> labels(static_cast<size_t>(end - first));
    std::iota(labels.begin(), labels.end(), static_cast<float>(first));
    const std::string path = ScratchPath("part" + std::to_string(end) + ".h5");
    const hsize_t rows[] = {labels.size(), 1};
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(2, rows, nullptr);
    const hid_t set =
        H5Dcreate2(file, "label", H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    EXPECT_GE(H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, labels.data()), 0);
    H5Dclose(set);
    H5Sclose(space);
    H5Fclose(file);
    list += path + "\n";
    first = end;
  }
  WriteFile(ScratchPath("list.txt"), list);
  for (bool shuffle : {false, true}) {
    ExpectEachOncePerEpoch(shuffle, [&](int ranks, int64_t samples) {
      std::vector<std::unique_ptr<Hdf5Rows>> rows;
      for (int rank = 0; rank < ranks; ++rank) {
        Hdf5Options options;
        options.batch = kBatch;
        options.shuffle = shuffle;
        options.seed = 3;
        rows.push_back(std::make_unique<Hdf5Rows>(ScratchPath("list.txt"),
                                                  std::vector<std::string>{"label"}, options));
        rows.back()->cursor().Shard(rank, ranks);
      }
      return Merge(ranks, samples,
                   [&](int rank) { return rows[static_cast<size_t>(rank)]->Next()[0].values; });
    });
  }
}

// A rank reads only its share and the batches that it reads ahead.
TEST(Epoch, IsReadOnceByAllRanksTogether) {
  struct Counting : Source {
    explicit Counting(std::atomic<int64_t>* reads) : reads(reads) {}
    int64_t size() const override { return kSize; }
    void Read(int64_t index, Record* record) const override {
      ++*reads;
      record->float_storage.assign(1, 0.0f);
      record->pixels = {{1, 1, 1}, nullptr, record->float_storage.data(), false};
      record->labels.assign(1, static_cast<float>(index));
    }
    std::string Name(int64_t index) const override { return std::to_string(index); }
    std::atomic<int64_t>* reads;
  };
  for (int ranks : {1, 3}) {
    std::atomic<int64_t> reads{0};
    PipelineOptions options;
    options.batch = kBatch;
    options.threads = 1;
    int64_t asked = 0;
    {
      std::vector<std::unique_ptr<Pipeline>> pipelines;
      for (int rank = 0; rank < ranks; ++rank) {
        pipelines.push_back(std::make_unique<Pipeline>(std::make_unique<Counting>(&reads),
                                                       TransformationParameter(), TRAIN, options));
        pipelines.back()->Shard(rank, ranks);
      }
      for (; asked < kSize; asked += int64_t{ranks} * kBatch) {
        for (const auto& pipeline : pipelines) pipeline->Next();
      }
    }
    const int64_t ahead = int64_t{ranks} * (options.prefetch + 2) * kBatch;
    EXPECT_GE(reads, asked);
    EXPECT_LE(reads, asked + ahead) << ranks << " ranks";
  }
}

}  // namespace
}  // namespace doppio
