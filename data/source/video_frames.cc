#include "data/source/video_frames.h"

#include <utility>

#include "core/base/error.h"

namespace doppio {
namespace {

// Returns what a shell command prints.
std::string OutputOf(const std::string& command) {
  std::string output;
  FILE* const stream = popen(command.c_str(), "re");
  if (stream == nullptr) return output;
  for (int c = std::fgetc(stream); c != EOF; c = std::fgetc(stream)) output += static_cast<char>(c);
  pclose(stream);
  return output;
}

}  // namespace

VideoShape ProbeVideo(const std::string& input, const std::string& name, bool count) {
  const std::string output =
      OutputOf("ffprobe -v error -select_streams v:0 " +
               std::string(count ? "-count_packets " : "") + "-show_entries stream=width,height" +
               (count ? ",nb_read_packets" : "") + " -of csv=p=0 " + input + " 2>&1 </dev/null");
  VideoShape shape;
  long long frames = 0;
  const int read = std::sscanf(output.c_str(), "%d,%d,%lld", &shape.width, &shape.height, &frames);
  if (read < (count ? 3 : 2) || shape.width < 1 || shape.height < 1 || (count && frames < 1)) {
    const std::string line = output.substr(0, output.find('\n'));
    throw FileError("cannot read ", name, " with the program ffprobe, which prints '", line,
                    "'; Debian's package ffmpeg has it");
  }
  shape.frames = frames;
  return shape;
}

VideoFrames::VideoFrames(std::string input, const VideoShape& shape)
    : input_(std::move(input)),
      bytes_(static_cast<size_t>(shape.height) * static_cast<size_t>(shape.width) * 3) {}

VideoFrames::~VideoFrames() { Stop(); }

void VideoFrames::Stop() {
  // ffmpeg ends when it can no longer write.
  if (stream_ != nullptr) pclose(stream_);
  stream_ = nullptr;
  next_ = 0;
}

bool VideoFrames::Read(int64_t frame, std::string* pixels) {
  if (frame < next_) Stop();
  while (next_ < frame) {
    if (!ReadNext(pixels)) return false;
  }
  return ReadNext(pixels);
}

bool VideoFrames::ReadNext(std::string* pixels) {
  if (stream_ == nullptr) {
    // In a session of its own, because Ctrl-C would end ffmpeg before the training has stopped.
    stream_ = popen(("exec setsid ffmpeg -nostdin -v error -noautorotate " + input_ +
                     " -map 0:v:0 -f rawvideo -pix_fmt bgr24 -fps_mode passthrough -")
                        .c_str(),
                    "re");
    if (stream_ == nullptr) return false;
  }
  pixels->resize(bytes_);
  if (std::fread(pixels->data(), 1, bytes_, stream_) != bytes_) {
    Stop();
    return false;
  }
  ++next_;
  return true;
}

}  // namespace doppio
