// Reads the frames of a video file or a camera from the program ffmpeg, so that Doppio links no
// library for videos.
#ifndef DOPPIO_DATA_SOURCE_VIDEO_FRAMES_H_
#define DOPPIO_DATA_SOURCE_VIDEO_FRAMES_H_

#include <cstdint>
#include <cstdio>
#include <string>

namespace doppio {

struct VideoShape {
  int height = 0, width = 0;
  int64_t frames = 0;  // 0 if unknown, as for a camera
};

// Returns the shape of a video. `input` holds ffmpeg's options for the input, quoted for a shell,
// and `name` names it in messages. Runs ffprobe, which reads a whole file to count its frames if
// `count` is true. Throws FileError if ffprobe is not installed or does not know the video.
VideoShape ProbeVideo(const std::string& input, const std::string& name, bool count);

// The frames of a video, in order. Not thread-safe.
class VideoFrames {
 public:
  VideoFrames(std::string input, const VideoShape& shape);
  ~VideoFrames();
  VideoFrames(const VideoFrames&) = delete;
  VideoFrames& operator=(const VideoFrames&) = delete;

  // Writes height x width pixels of blue, green and red to `pixels`, those of frame `frame`, and
  // returns true. Returns false if the video ends before it. Starts ffmpeg again for a frame that
  // has passed, so reading in ascending order is fast.
  bool Read(int64_t frame, std::string* pixels);
  // Writes the next frame, as Read does.
  bool ReadNext(std::string* pixels);

 private:
  void Stop();

  const std::string input_;
  const size_t bytes_;      // of a frame
  FILE* stream_ = nullptr;  // the output of ffmpeg
  int64_t next_ = 0;        // the frame that the stream delivers next
};

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_VIDEO_FRAMES_H_
