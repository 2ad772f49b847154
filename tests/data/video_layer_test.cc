// Tests the layer VideoData with stand-ins for the programs ffprobe and ffmpeg.
#include <sys/stat.h>

#include <cstdlib>

#include "core/base/file.h"
#include "tests/data/data_net.h"

namespace doppio {
namespace {

using testing::Each;
using testing::HasSubstr;

void WriteProgram(const std::string& name, const std::string& script) {
  const std::string path = ScratchPath("bin/" + name);
  WriteFile(path, "#!/bin/sh\n" + script + "\n");
  ASSERT_EQ(chmod(path.c_str(), 0755), 0);
}

// Has a video of five frames of 1x2 pixels. All bytes of frame i are i.
class Video : public testing::Test {
 protected:
  void SetUp() override {
    mkdir(ScratchPath("bin").c_str(), 0755);
    const char* const path = std::getenv("PATH");
    path_ = path == nullptr ? "/bin:/usr/bin" : path;
    setenv("PATH", (ScratchPath("bin") + ":" + path_).c_str(), 1);
    WriteProgram("ffprobe", "echo 2,1,5");
    WriteProgram("ffmpeg", "echo \"$@\" >>" + ScratchPath("arguments") +
                               "; for i in 0 1 2 3 4; do printf "
                               "\"\\\\$i\\\\$i\\\\$i\\\\$i\\\\$i\\\\$i\"; done");
    WriteFile(ScratchPath("it's.mp4"), "");
  }
  void TearDown() override { setenv("PATH", path_.c_str(), 1); }

  static std::string Layer(const std::string& more = "", int batch = 1) {
    return "type: 'VideoData' top: 'd' top: 'l' data_param { batch_size: " + std::to_string(batch) +
           " } video_data_param { video_type: VIDEO video_file: \"" + ScratchPath("it's.mp4") +
           "\" " + more + " }";
  }

  // Returns the value of all elements of the next `count` batches.
  static std::vector<double> Frames(DataNet* net, int count) {
    std::vector<double> frames;
    for (int i = 0; i < count; ++i) {
      (*net)->Forward();
      const std::vector<double> values = net->Values("d");
      EXPECT_THAT(values, Each(values[0]));
      frames.push_back(values[0]);
    }
    return frames;
  }

  std::string path_;
};

TEST_F(Video, DeliversFramesInOrderAndStartsAgain) {
  DataNet net(Layer());
  EXPECT_EQ(net.ShapeOf("d"), (Shape{1, 3, 1, 2}));
  EXPECT_EQ(net.ShapeOf("l"), (Shape{1}));
  EXPECT_EQ(Frames(&net, 7), (std::vector<double>{0, 1, 2, 3, 4, 0, 1}));
  EXPECT_EQ(net.source()->source_size(), 5);
  EXPECT_THAT(ReadFile(ScratchPath("arguments")), HasSubstr(" -i file:" + ScratchPath("it's.mp4")));
}

TEST_F(Video, LeavesFramesOut) {
  DataNet net(Layer("skip_frames: 1"));
  EXPECT_EQ(net.source()->source_size(), 3);
  EXPECT_EQ(Frames(&net, 4), (std::vector<double>{0, 2, 4, 0}));
}

TEST_F(Video, ContinuesAtAFrame) {
  DataNet net(Layer());
  net.source()->Seek(3);
  EXPECT_EQ(Frames(&net, 2), (std::vector<double>{3, 4}));
  net.source()->Seek(1);
  EXPECT_EQ(Frames(&net, 1), (std::vector<double>{1}));
}

TEST_F(Video, BatchesFrames) {
  DataNet net(Layer("", 2) + " transform_param { scale: 0.5 }");
  net->Forward();
  EXPECT_THAT(net.Values("d"),
              testing::ElementsAre(0, 0, 0, 0, 0, 0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5));
}

TEST_F(Video, DeliversTheSameWithAnyNumberOfThreads) { ExpectSameWithAnyThreads(Layer("", 3)); }

TEST_F(Video, NamesWhatIsMissing) {
  const std::string start = "type: 'VideoData' top: 'd' data_param { batch_size: 1 } ";
  EXPECT_THAT(LayerMistake(start + "video_data_param { video_type: VIDEO }"),
              HasSubstr("video_type: VIDEO needs a video_file"));
  EXPECT_THAT(LayerMistake(start + "video_data_param { video_type: VIDEO video_file: 'none.mp4' }"),
              HasSubstr("there is no video 'none.mp4'"));
  EXPECT_THAT(LayerMistake(start + "video_data_param { device_id: 97 }"),
              HasSubstr("there is no camera '/dev/video97'"));
  WriteProgram("ffprobe", "echo 'moov atom not found' >&2; exit 1");
  EXPECT_THAT(LayerMistake(Layer()), AllOf(HasSubstr("which prints 'moov atom not found'"),
                                           HasSubstr("Debian's package ffmpeg has it")));
}

TEST_F(Video, NamesAFrameThatIsMissing) {
  WriteProgram("ffprobe", "echo 2,1,6");
  DataNet net(Layer());
  EXPECT_EQ(Frames(&net, 5).back(), 4);
  EXPECT_THAT(
      MessageOf([&] { net->Forward(); }),
      AllOf(HasSubstr("frame 5 of video "), HasSubstr("the program ffmpeg does not deliver it")));
}

TEST_F(Video, HasTheDeclaredShapeWithoutTheVideo) {
  const std::string missing =
      "type: 'VideoData' top: 'd' data_param { batch_size: 1 } transform_param { resize_param { "
      "prob: 1 resize_mode: WARP height: 30 width: 40 } }";
  EXPECT_EQ(Shapes(missing, DataMode::kAssume), "d 1x3x30x40; ");
}

}  // namespace
}  // namespace doppio
