// One JPEG file in memory, row by row, or only a window of it. Keeps libjpeg's way of failing
// inside.
//
// The pixels of a window are those of the whole image, bit for bit: what lies outside is left out
// only where libjpeg can do so, and with the margin that its interpolation of colour needs.
#ifndef DOPPIO_DATA_DECODE_JPEG_READER_H_
#define DOPPIO_DATA_DECODE_JPEG_READER_H_

// jpeglib.h needs what stands before it.
// clang-format off
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include "data/source/record.h"

namespace doppio {

bool IsJpeg(const uint8_t* file, size_t bytes);

// Rows and columns, ends excluded.
struct PixelWindow {
  int top = 0, bottom = 0;
  int left = 0, right = 0;
};

// Calls in this order: Start, ReadRow for each row, Finish. All throw FileError saying how the file
// is damaged, or that it has more pixels or scans than the limits. A new one for each file (setting
// libjpeg up costs a microsecond): tables of the last file must not serve one that lacks its own.
class JpegReader {
 public:
  // Reads the header. `file` must outlive the reader.
  JpegReader(const uint8_t* file, size_t bytes);
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  int components() const { return jpeg_.info.num_components; }
  int height() const { return static_cast<int>(jpeg_.info.output_height); }
  int width() const { return static_cast<int>(jpeg_.info.output_width); }
  int ChannelsFor(DecodeOptions::Color color) const {
    const bool gray = color == DecodeOptions::Color::kAsStored && components() == 1;
    return gray || color == DecodeOptions::Color::kGray ? 1 : 3;
  }

  // Before Start: decodes at the smallest of 1/8, 1/4, 1/2 and 1 that is at least this large.
  void ScaleTo(int height, int width);
  // Returns what ReadRow will give: at least the columns of `wanted`, and rows from wanted.top or
  // an earlier one on.
  PixelWindow Start(J_COLOR_SPACE pixels, const PixelWindow& wanted);
  void ReadRow(uint8_t* row);
  // After the last row of the window: checks that the rest of the file is there.
  void Finish();

 private:
  // libjpeg ends the program on an error by default. It is C: leave it by longjmp, then throw.
  struct Errors {
    jpeg_error_mgr base;  // first: libjpeg knows only this part
    std::jmp_buf escape;
    char message[JMSG_LENGTH_MAX];
    bool file_ended;  // libjpeg wanted more bytes than there are
    bool lacks_pixels;
    jpeg_progress_mgr progress;
  };
  struct Decompress {
    Decompress() : info() {}
    ~Decompress() { jpeg_destroy_decompress(&info); }
    jpeg_decompress_struct info;
  };

  static void OnError(j_common_ptr info);
  static void OnMessage(j_common_ptr info, int level);
  static void OnProgress(j_common_ptr info);
  template <class F>
  void Run(const F& call);
  bool CanSkip() const;
  bool EndIsThere() const;

  Errors errors_ = {};
  Decompress jpeg_;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_DECODE_JPEG_READER_H_
