#include "data/decode/jpeg_reader.h"

#include <jerror.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/base/error.h"
#include "core/base/file_limits.h"
#include "core/base/library_version.h"
#include "data/decode/decode_formats.h"

namespace doppio {
namespace {

// Margin in columns that the interpolation of colour reads beyond the window: one chroma sample,
// which covers up to 4 pixels.
constexpr int kMargin = 4;

bool OneScan(const jpeg_decompress_struct& info) {
  return info.comps_in_scan == info.num_components && info.progressive_mode == FALSE;
}

// LIBJPEG_TURBO_VERSION is a bare token such as 2.1.5, so it must be turned into a string.
#define DOPPIO_TEXT_INNER(text) #text
#define DOPPIO_TEXT(text) DOPPIO_TEXT_INNER(text)
DOPPIO_REGISTER(Libraries, "libjpeg-turbo", {DOPPIO_TEXT(LIBJPEG_TURBO_VERSION)});

}  // namespace

void JpegReader::OnError(j_common_ptr info) {
  auto* errors = reinterpret_cast<Errors*>(info->err);
  info->err->format_message(info, errors->message);
  std::longjmp(errors->escape, 1);
}

// Ignores most warnings, which are common in good data sets (stray bytes before a marker). Only
// missing data is an error.
void JpegReader::OnMessage(j_common_ptr info, int level) {
  if (level >= 0) return;
  auto* errors = reinterpret_cast<Errors*>(info->err);
  if (info->err->msg_code == JWRN_JPEG_EOF) errors->file_ended = true;
  if (info->err->msg_code == JWRN_HIT_MARKER) errors->lacks_pixels = true;
}

// Limits the number of scans. A progressive file may have any number of scans of a few bytes, and
// each scan visits all blocks.
void JpegReader::OnProgress(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMaxJpegScans) return;
  auto* errors = reinterpret_cast<Errors*>(info->err);
  std::snprintf(errors->message, sizeof errors->message, "it has more than %d scans",
                kMaxJpegScans);
  std::longjmp(errors->escape, 1);
}

// Runs `call` and throws libjpeg's error. `call` must not own resources, because longjmp skips
// destructors.
template <class F>
void JpegReader::Run(const F& call) {
  if (setjmp(errors_.escape) != 0) {
    throw FileError("corrupt JPEG image: ", errors_.message);
  }
  call();
}

JpegReader::JpegReader(const uint8_t* file, size_t bytes) {
  jpeg_decompress_struct* info = &jpeg_.info;
  info->err = jpeg_std_error(&errors_.base);
  errors_.base.error_exit = OnError;
  errors_.base.emit_message = OnMessage;
  errors_.base.output_message = [](j_common_ptr) {};
  errors_.progress.progress_monitor = OnProgress;
  Run([info, file, bytes] {
    jpeg_create_decompress(info);
    jpeg_mem_src(info, file, static_cast<unsigned long>(bytes));  // NOLINT: libjpeg's type
    jpeg_read_header(info, TRUE);
  });
  // The limit counts all pixels, because a progressive file is decoded as a whole, whatever window
  // is read.
  CheckPixels(info->image_height, info->image_width);
  info->progress = &errors_.progress;
  Run([info] { jpeg_calc_output_dimensions(info); });
}

// Tries only these eighths, because only these have fast transforms.
void JpegReader::ScaleTo(int height, int width) {
  jpeg_decompress_struct* info = &jpeg_.info;
  info->scale_denom = 8;
  for (unsigned eighths : {1u, 2u, 4u, 8u}) {
    info->scale_num = eighths;
    Run([info] { jpeg_calc_output_dimensions(info); });
    if (this->height() >= height && this->width() >= width) return;
  }
}

// Returns true if libjpeg can skip pixels outside the window. Files with several scans are fully
// decoded by now, and may need smoothing across the window's edges. For rare chroma sampling
// ratios, libjpeg-turbo does not crop all scaled images correctly.
bool JpegReader::CanSkip() const {
  const jpeg_decompress_struct& info = jpeg_.info;
  return OneScan(info) && info.max_h_samp_factor <= 2 && info.max_v_samp_factor <= 2;
}

PixelWindow JpegReader::Start(J_COLOR_SPACE pixels, const PixelWindow& wanted) {
  jpeg_decompress_struct* info = &jpeg_.info;
  info->out_color_space = pixels;
  Run([info] { jpeg_start_decompress(info); });
  PixelWindow window{0, wanted.bottom, 0, width()};
  if (!CanSkip()) return window;
  auto left = static_cast<JDIMENSION>(std::max(0, wanted.left - kMargin));
  JDIMENSION columns = static_cast<JDIMENSION>(std::min(width(), wanted.right + kMargin)) - left;
  JDIMENSION* const at = &left;
  JDIMENSION* const count = &columns;
  const auto rows = static_cast<JDIMENSION>(wanted.top);
  Run([info, at, count, rows] {
    jpeg_crop_scanline(info, at, count);
    if (rows > 0) jpeg_skip_scanlines(info, rows);
  });
  window.top = wanted.top;
  window.left = static_cast<int>(left);
  window.right = static_cast<int>(left + columns);
  return window;
}

void JpegReader::ReadRow(uint8_t* row) {
  jpeg_decompress_struct* info = &jpeg_.info;
  Run([info, row] {
    JSAMPROW rows = row;
    jpeg_read_scanlines(info, &rows, 1);
  });
}

// Returns true if the next marker, apart from restart markers, is the end of the image; then
// decoding the remaining rows could only produce warnings. In compressed data, a 0xff byte that is
// not a marker is followed by zero.
bool JpegReader::AtEndMarker() const {
  const auto is_restart = [](int marker) { return marker >= JPEG_RST0 && marker <= JPEG_RST0 + 7; };
  const int pending = jpeg_.info.unread_marker;
  if (pending != 0 && !is_restart(pending)) return pending == JPEG_EOI;
  const JOCTET* at = jpeg_.info.src->next_input_byte;
  const JOCTET* const end = at + jpeg_.info.src->bytes_in_buffer;
  while (at < end) {
    at = static_cast<const JOCTET*>(std::memchr(at, 0xff, static_cast<size_t>(end - at)));
    if (at == nullptr) return false;
    while (at < end && *at == 0xff) ++at;
    if (at == end) return false;
    if (*at != 0 && !is_restart(*at)) return *at == JPEG_EOI;
  }
  return false;
}

void JpegReader::Finish() {
  jpeg_decompress_struct* info = &jpeg_.info;
  const bool one_scan = OneScan(*info);
  const bool rows_left = info->output_scanline < info->output_height;
  if (rows_left && (!CanSkip() || errors_.file_ended || !AtEndMarker())) {
    std::vector<uint8_t> row(static_cast<size_t>(info->output_width) * 4);
    while (info->output_scanline < info->output_height) ReadRow(row.data());
  }
  if (info->output_scanline == info->output_height) Run([info] { jpeg_finish_decompress(info); });
  // A file that lacks only its end marker is complete. If there are several scans, their number is
  // unknown, so the file may be incomplete.
  if (errors_.file_ended && (errors_.lacks_pixels || !one_scan)) {
    throw FileError("corrupt JPEG image: it ends too early");
  }
}

}  // namespace doppio
