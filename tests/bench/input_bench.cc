// Compares the rate of ImageData on one core with that of a bare libjpeg-turbo loop over the same
// files.
//
//   bazel run //tests/bench:input_bench [-- ROUNDS IMAGES]
//
// photos.h draws the files. A round decodes all of them to BGR with plain libjpeg-turbo calls, then
// runs the layer (resize 256, crop 224, mirror, mean) over as many files, including its copy into
// the net. Both read the files from disk. The program is pinned to one core; rates are images per
// second of CPU time, so that other programs do not matter.
#include <omp.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

// jpeglib.h uses FILE and size_t without including <cstdio>, so the order matters.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/net/run/net.h"
#include "core/net/spec/prototxt.h"
#include "tests/bench/photos.h"
#include "tools/cli/median.h"

namespace doppio {
namespace {

constexpr int kBatch = 32;

// Reads the file at `path` into `file` and decodes it into `bgr`, as a minimal program would.
void DecodeBare(const std::string& path, std::vector<uint8_t>* file, std::vector<uint8_t>* bgr) {
  std::FILE* stream = std::fopen(path.c_str(), "rb");
  std::fseek(stream, 0, SEEK_END);
  file->resize(static_cast<size_t>(std::ftell(stream)));
  std::rewind(stream);
  const size_t got = std::fread(file->data(), 1, file->size(), stream);
  std::fclose(stream);
  jpeg_decompress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, file->data(), got);
  jpeg_read_header(&info, TRUE);
  info.out_color_space = JCS_EXT_BGR;
  jpeg_start_decompress(&info);
  const size_t row_bytes = size_t{info.output_width} * 3;
  bgr->resize(row_bytes * info.output_height);
  while (info.output_scanline < info.output_height) {
    uint8_t* row = bgr->data() + row_bytes * info.output_scanline;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
}

// A temporary folder of photos, which the destructor deletes.
class PhotoFolder {
 public:
  explicit PhotoFolder(int count) {
    std::string name = (std::getenv("TEST_TMPDIR") ? std::getenv("TEST_TMPDIR") : "/tmp") +
                       std::string("/input_bench_XXXXXX");
    folder_ = mkdtemp(&name[0]);
    photos_ = DrawPhotos(folder_, count);
  }
  ~PhotoFolder() {
    for (const std::string& path : photos_.paths) unlink(path.c_str());
    unlink(photos_.list.c_str());
    rmdir(folder_.c_str());
  }
  const Photos& photos() const { return photos_; }

 private:
  std::string folder_;
  Photos photos_;
};

Graph LayerGraph(const std::string& list) {
  const std::string text =
      "layer { name: 'data' type: 'ImageData' top: 'data' top: 'label' image_data_param { source: "
      "'" +
      list + "' batch_size: " + std::to_string(kBatch) +
      " new_height: 256 new_width: 256 shuffle: true threads: 1 } transform_param { crop_size: 224 "
      "mirror: true mean_value: 104 mean_value: 117 mean_value: 123 } }";
  NetParameter net;
  const FieldPlaces places = ParseText(text, "input_bench", &net);
  NetState state;
  state.set_phase(TRAIN);
  NetOptions options;
  options.data = DataMode::kOpen;
  options.seed = 1;
  return MakeGraph(MakeNetSpec(net, places, state, options));
}

double CoreSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

int Main(int rounds, int images) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one);
  omp_set_num_threads(1);
  const PhotoFolder folder(images);
  const Photos& photos = folder.photos();
  std::unique_ptr<Device> device = MakeCpuDevice();
  ParamStore params(device.get(), DType::kFloat32, 1);
  PlanOptions options;
  options.device = device.get();
  options.keep_all = true;
  Net net(LayerGraph(photos.list), options, &params);
  const int batches = std::max(1, images / kBatch);
  std::vector<uint8_t> file, bgr;
  std::vector<double> bare, layer, ratio;
  for (int round = 0; round < rounds; ++round) {
    // The layer's thread reads ahead. Waits until it is idle, so that it does not disturb the
    // timing of the bare loop.
    double before;
    do {
      before = CoreSeconds();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    } while (CoreSeconds() - before > 0.002);
    double begin = CoreSeconds();
    for (const std::string& path : photos.paths) DecodeBare(path, &file, &bgr);
    bare.push_back(images / (CoreSeconds() - begin));
    for (int i = 0; i < 6; ++i) net.Forward();  // consumes the batches that were read ahead
    begin = CoreSeconds();
    for (int i = 0; i < batches; ++i) net.Forward();
    layer.push_back(batches * kBatch / (CoreSeconds() - begin));
    ratio.push_back(layer.back() / bare.back());
  }
  std::sort(ratio.begin(), ratio.end());
  std::printf("files: %d of %zu bytes on average; rounds: %d\n", images, photos.mean_bytes, rounds);
  std::printf("bare decode %8.1f images/s per core\n", Median(bare));
  std::printf("ImageData   %8.1f images/s per core\n", Median(layer));
  std::printf("ratio       %8.3f (%.3f to %.3f)\n", Median(ratio), ratio.front(), ratio.back());
  return 0;
}

}  // namespace
}  // namespace doppio

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 9;
  const int images = argc > 2 ? std::atoi(argv[2]) : 128;
  return doppio::Main(std::max(1, rounds), std::max(1, images));
}
