#include "data/pipeline/jpeg_cut.h"

namespace doppio {
namespace {

// Pixel is a byte of gray, or a word for colour: libjpeg writes blue, green, red and a spare byte.
template <class Pixel>
class CutWriter {
 public:
  CutWriter(JpegReader* reader, const ImageShape& image, const Cut& cut, const Augment& augment,
            JpegCutScratch* scratch, CutPixels* to)
      : reader_(reader), image_(image), cut_(cut), augment_(augment), s_(*scratch), to_(to) {}

  void Copy() {
    Start({cut_.top, cut_.top + cut_.shape.height, cut_.left, cut_.left + cut_.shape.width});
    for (int y = 0; y < cut_.shape.height; ++y) {
      ReadUpTo(cut_.top + y);
      Write(source() + (cut_.left - window_.left), y);
    }
  }

  void Resize() {
    constexpr int kBytes = sizeof(Pixel);
    const auto values = static_cast<size_t>(cut_.shape.width) * kBytes;
    s_.columns.SetColumns(reader_->width(), image_.width, cut_.left, cut_.shape.width);
    s_.rows.SetRows(reader_->height(), image_.height, cut_.top, cut_.shape.height);
    for (std::vector<int16_t>& row : s_.across) row.resize(values);
    s_.result.resize(cut_.shape.width);
    auto* const result = reinterpret_cast<Pixel*>(s_.result.data());
    Start({s_.rows.first.front(), s_.rows.second.back() + 1, s_.columns.first.front(),
           s_.columns.second.back() + 1});
    int have = -1;  // the last source row already resized along x
    for (size_t y = 0; y < s_.rows.first.size(); ++y) {
      const int first = s_.rows.first[y], second = s_.rows.second[y];
      for (const int row : {first, second}) {
        if (row <= have) continue;
        ReadUpTo(row);
        ResizeAcross(source(), window_.left, s_.columns, s_.across[row & 1].data());
        have = row;
      }
      ResizeDown(s_.across[first & 1].data(), s_.across[second & 1].data(), s_.rows.weights[y],
                 static_cast<int>(values), reinterpret_cast<uint8_t*>(result));
      Write(result, static_cast<int>(y));
    }
  }

 private:
  // One word off alignment: libjpeg-turbo writes aligned rows past the cache, so reading them back
  // would wait for memory.
  Pixel* source() { return reinterpret_cast<Pixel*>(s_.source.data() + 1); }

  void Start(const PixelWindow& wanted) {
    window_ = reader_->Start(sizeof(Pixel) == 1 ? JCS_GRAYSCALE : JCS_EXT_BGRX, wanted);
    next_row_ = window_.top;
    s_.source.resize(static_cast<size_t>(window_.right - window_.left) + 2);
  }

  void ReadUpTo(int y) {
    for (; next_row_ <= y; ++next_row_) {
      reader_->ReadRow(reinterpret_cast<uint8_t*>(source()));
    }
  }

  void Write(const Pixel* pixels, int y) {
    for (int c = 0; c < cut_.shape.channels; ++c) {
      augment_.WriteRow(pixels, cut_, c, y, to_);
    }
  }

  JpegReader* const reader_;
  const ImageShape& image_;
  const Cut& cut_;
  const Augment& augment_;
  JpegCutScratch& s_;
  CutPixels* const to_;
  PixelWindow window_;
  int next_row_ = 0;
};

template <class Pixel>
void WriteCut(CutWriter<Pixel> writer, bool resize) {
  if (resize) {
    writer.Resize();
  } else {
    writer.Copy();
  }
}

}  // namespace

void WriteJpegCut(JpegReader* reader, const ImageShape& image, const Cut& cut,
                  const Augment& augment, JpegCutScratch* scratch, CutPixels* to) {
  augment.Start(cut, to);
  const bool resize = reader->height() != image.height || reader->width() != image.width;
  if (image.channels == 1) {
    WriteCut(CutWriter<uint8_t>(reader, image, cut, augment, scratch, to), resize);
  } else {
    WriteCut(CutWriter<uint32_t>(reader, image, cut, augment, scratch, to), resize);
  }
  reader->Finish();
}

}  // namespace doppio
