#include "data/decode/exif.h"

#include <algorithm>
#include <opencv2/core.hpp>
#include <utility>

#include "data/decode/file_span.h"
#include "data/decode/mat_image.h"

namespace doppio {
namespace {

// Returns the orientation in the first directory of a TIFF file or a BigTIFF file; EXIF data has
// the form of the former.
int OrientationInTiff(const FileSpan& tiff) {
  constexpr uint64_t kBigTiff = 43, kOrientation = 0x0112;
  const bool little = tiff.Has(0, "II"), big = tiff.Number(2, 2, little) == kBigTiff;
  if (!little && !tiff.Has(0, "MM")) return kUpright;
  const size_t directory = tiff.Number(big ? 8 : 4, big ? 8 : 4, little);
  const size_t header = big ? 8 : 2, entry_bytes = big ? 20 : 12;
  if (directory >= tiff.size) return kUpright;
  const FileSpan entries = tiff.Part(directory + header, tiff.size);
  const size_t count =
      std::min<size_t>(tiff.Number(directory, header, little), entries.size / entry_bytes);
  for (size_t at = 0; at < count * entry_bytes; at += entry_bytes) {
    if (entries.Number(at, 2, little) != kOrientation) continue;
    const uint64_t orientation = entries.Number(at + (big ? 12 : 8), 2, little);
    return orientation >= 1 && orientation <= 8 ? static_cast<int>(orientation) : kUpright;
  }
  return kUpright;
}

// Segments of a JPEG have a marker, and a length that includes itself. EXIF data is in APP1, before
// the headers of frames and scans, whose markers are lower than those of APPn.
FileSpan ExifOfJpeg(const FileSpan& file) {
  constexpr uint64_t kApp1 = 0xffe1, kStartOfScan = 0xffda;
  size_t length;
  for (size_t at = 2; file.Number(at, 2, false) > kStartOfScan; at += 2 + length) {
    length = file.Number(at + 2, 2, false);
    if (file.Number(at, 2, false) == kApp1 && file.Has(at + 4, "Exif")) {
      return file.Part(at + 10, length);
    }
  }
  return {};
}

FileSpan ExifOf(const FileSpan& file) {
  if (file.Has(0, "\xff\xd8")) return ExifOfJpeg(file);
  if (file.Has(0, "\x89PNG")) return file.Chunk("eXIf", 8, true);
  if (!file.Has(8, "WEBP")) return file;
  const FileSpan exif = file.Chunk("EXIF", 12, false);
  return exif.Has(0, "Exif") ? exif.Part(6, exif.size) : exif;
}

// After the exchange of rows and columns (SwapsSides), the orientations differ by mirroring.
bool MirrorsColumns(int orientation) {
  return orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
}
bool MirrorsRows(int orientation) {
  return orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
}

}  // namespace

int OrientationOf(const uint8_t* file, size_t bytes) {
  return OrientationInTiff(ExifOf({file, bytes}));
}

void TurnUpright(int orientation, Image* image) {
  if (orientation == kUpright) return;
  cv::Mat pixels = MatOf(image).clone();
  if (SwapsSides(orientation)) cv::transpose(MatOf(image), pixels);
  const bool columns = MirrorsColumns(orientation), rows = MirrorsRows(orientation);
  // OpenCV's codes: 0 mirrors rows, 1 columns, -1 both.
  if (columns || rows) cv::flip(pixels.clone(), pixels, columns && rows ? -1 : columns ? 1 : 0);
  Image turned = ImageOf(pixels);
  image->shape = turned.shape;
  image->bytes.swap(turned.bytes);
}

Box TurnedUpright(int orientation, const Box& box) {
  Box turned = box;
  if (SwapsSides(orientation)) turned = {box.ymin, box.xmin, box.ymax, box.xmax};
  if (MirrorsColumns(orientation)) turned.xmin = 1 - std::exchange(turned.xmax, 1 - turned.xmin);
  if (MirrorsRows(orientation)) turned.ymin = 1 - std::exchange(turned.ymax, 1 - turned.ymin);
  return turned;
}

}  // namespace doppio
