// Decodes a JPEG file in memory row by row, in whole or only a window. Hides how libjpeg reports
// errors.
//
// The pixels of a window equal those of the whole image, bit for bit. The reader skips pixels
// outside the window only where libjpeg supports it, and keeps the margin that its colour
// interpolation needs.
#ifndef DOPPIO_DATA_DECODE_JPEG_READER_H_
#define DOPPIO_DATA_DECODE_JPEG_READER_H_

// jpeglib.h needs the headers included before it.
// clang-format off
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include "data/record/record.h"

namespace doppio {

// Rows [top, bottom) and columns [left, right).
struct PixelWindow {
  int top = 0, bottom = 0;
  int left = 0, right = 0;
};

// Call Start, then ReadRow for each row, then Finish. All throw FileError if the file is damaged or
// exceeds the limits on pixels or scans. Make a new reader for each file (setting up libjpeg costs
// a microsecond), because the tables of one file must not serve another file that lacks its own.
class JpegReader {
 public:
  // Reads the header. `file` must outlive the reader.
  JpegReader(const uint8_t* file, size_t bytes);
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  int components() const { return jpeg_.info.num_components; }
  // Height and width in pixels, after ScaleTo.
  int height() const { return static_cast<int>(jpeg_.info.output_height); }
  int width() const { return static_cast<int>(jpeg_.info.output_width); }
  // Returns the number of channels, 1 or 3, of the image decoded to `color`.
  int ChannelsFor(DecodeOptions::Color color) const {
    const bool gray = color == DecodeOptions::Color::kAsStored && components() == 1;
    return gray || color == DecodeOptions::Color::kGray ? 1 : 3;
  }

  // Call before Start. Scales the image by the smallest of 1/8, 1/4, 1/2 and 1 that gives at least
  // this size; by 1 if none does.
  void ScaleTo(int height, int width);
  // Starts decoding to the colour space `pixels`. Returns the window that ReadRow delivers, which
  // contains `wanted`: it has at least the wanted columns, and begins at wanted.top or an earlier
  // row.
  PixelWindow Start(J_COLOR_SPACE pixels, const PixelWindow& wanted);
  // Writes the next row of the window that Start returned.
  void ReadRow(uint8_t* row);
  // Call after the last row of the window. Checks that the rest of the file is complete.
  void Finish();

 private:
  // By default libjpeg exits the program on an error. OnError leaves its C code by longjmp instead,
  // and Run throws afterwards.
  struct Errors {
    jpeg_error_mgr base;  // must come first: libjpeg sees only this part
    std::jmp_buf escape;
    char message[JMSG_LENGTH_MAX];
    bool file_ended;  // libjpeg tried to read beyond the end of the file
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
  bool AtEndMarker() const;

  Errors errors_ = {};
  Decompress jpeg_;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_DECODE_JPEG_READER_H_
