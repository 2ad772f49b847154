// Writes image files of the formats beyond JPEG and PNG with the formats' own libraries.
#ifndef DOPPIO_TESTS_DATA_TINY_IMAGES_H_
#define DOPPIO_TESTS_DATA_TINY_IMAGES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace doppio {

struct WebpKind {
  int height, width;
  int channels = 3;  // red, green, blue, or with alpha
  bool lossless = true;
  int frames = 1;  // more: an animation, whose later frames are black
};
// Returns a WebP file. A lossy one has quality 100.
std::string Webp(const WebpKind& kind, const std::vector<int>& pixels);

struct TiffKind {
  int height, width;
  int channels = 3;  // 1: gray; 3: red, green, blue; 2 and 4: with alpha
  int bits = 8;
  int compression = 1;   // 1: none, 5: LZW, 7: JPEG, 8: deflate, 32773: packed bits
  int photometric = -1;  // -1: gray or colours; 0: white is 0; 3: palette; 6: YCbCr
  int rows_per_strip = 2;
  int tile = 0;         // side of square tiles; 0: strips
  bool planes = false;  // a plane for each channel
  int orientation = 0;  // 0: no tag
  int format = 1;       // 1: unsigned; 2: signed; 3: floating-point
  bool big = false;     // BigTIFF, big-endian
  int subfile = 0;      // 1: a preview
};
// Returns a TIFF file. Entry i of its palette is red, green, blue 10 + 30 * i, 20 + ..., 30 + ....
std::string Tiff(const TiffKind& kind, const std::vector<int>& values);

struct GifKind {
  int height, width;
  int top = 0, left = 0;                    // of the first image
  int canvas_height = 0, canvas_width = 0;  // 0: those of the image
  bool interlaced = false;
  bool gray = false;  // the palette is gray: 30 * i
  int frames = 1;     // later ones have index 0 everywhere
};
// Returns a GIF file with the palette of Tiff; `indices` are below 8.
std::string Gif(const GifKind& kind, const std::vector<int>& indices);

// Returns EXIF data that states an orientation.
std::string Exif(int orientation);
// Returns a JPEG, PNG or WebP (lossy or lossless, without other chunks) with EXIF data.
std::string WithExif(const std::string& file, const std::string& exif);

}  // namespace doppio

#endif  // DOPPIO_TESTS_DATA_TINY_IMAGES_H_
