// The source of layer VideoData (SSD): the frames of a video file, or of a camera, in order.
#include <mutex>

#include "core/base/error.h"
#include "core/base/file.h"
#include "data/source/open_source.h"
#include "data/source/video_frames.h"
#include "proto/detection.pb.h"

namespace doppio {
namespace {

bool IsFile(const VideoDataParameter& parameter) {
  return parameter.video_type() == VideoDataParameter::VIDEO;
}

std::string PathOf(const VideoDataParameter& parameter) {
  return IsFile(parameter) ? parameter.video_file()
                           : "/dev/video" + std::to_string(parameter.device_id());
}

// Returns the options with which ffmpeg reads the video. The path is quoted for a shell.
std::string InputOf(const VideoDataParameter& parameter) {
  std::string quoted = "'";
  for (const char c : PathOf(parameter)) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  // The protocol keeps a path such as "http:x" from being a URL.
  return (IsFile(parameter) ? "-i file:" : "-f v4l2 -i ") + quoted + "'";
}

class VideoSource : public Source {
 public:
  explicit VideoSource(const VideoDataParameter& parameter)
      : name_((IsFile(parameter) ? "video '" : "camera '") + PathOf(parameter) + "'"),
        live_(!IsFile(parameter)),
        step_(int64_t{parameter.skip_frames()} + 1),
        shape_(Probe(parameter, name_)),
        frames_(InputOf(parameter), shape_) {}

  // One of skip_frames + 1 frames is a record.
  int64_t size() const override { return live_ ? kEndless : (shape_.frames + step_ - 1) / step_; }

  void Read(int64_t index, Record* record) const override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (live_) {
        for (int64_t i = 0; i < step_; ++i) CheckRead(frames_.ReadNext(&record->byte_storage));
      } else {
        CheckRead(frames_.Read(index * step_, &record->byte_storage));
      }
    }
    record->pixels = {{3, shape_.height, shape_.width},
                      reinterpret_cast<const uint8_t*>(record->byte_storage.data()),
                      nullptr,
                      true};
    record->labels.assign(1, 0);
  }

  std::string Name(int64_t index) const override {
    return live_ ? "the next frame of " + name_
                 : "frame " + std::to_string(index * step_) + " of " + name_;
  }

  SourceFacts facts() const override {
    SourceFacts facts;
    facts.channels = Preprocessing::BGR;
    facts.image = {3, shape_.height, shape_.width};
    return facts;
  }

 private:
  static VideoShape Probe(const VideoDataParameter& parameter, const std::string& name) {
    // The message is better than that of ffprobe.
    if (!FileExists(PathOf(parameter))) throw FileError("there is no ", name);
    return ProbeVideo(InputOf(parameter), name, IsFile(parameter));
  }

  static void CheckRead(bool read) {
    if (!read) throw FileError("the program ffmpeg does not deliver it");
  }

  const std::string name_;
  const bool live_;
  const int64_t step_;
  const VideoShape shape_;
  mutable std::mutex mutex_;
  mutable VideoFrames frames_;  // guarded by mutex_
};

}  // namespace

std::unique_ptr<Source> OpenVideo(const VideoDataParameter& parameter) {
  RefuseIf(IsFile(parameter) && parameter.video_file().empty(),
           "video_type: VIDEO needs a video_file");
  return std::make_unique<VideoSource>(parameter);
}

}  // namespace doppio
