// Parts of the text of a drawn source, for the rows of sources (tests/random/source_row.h).
#ifndef DOPPIO_TESTS_DATA_SOURCE_TEXT_H_
#define DOPPIO_TESTS_DATA_SOURCE_TEXT_H_

#include <algorithm>
#include <string>

#include "core/base/sample_set.h"
#include "data/record/record.h"
#include "tests/random/data_kind.h"
#include "tests/random/field_text.h"
#include "tests/random/source_row.h"

namespace doppio {

// Returns a layer with these fields.
inline std::string SourceText(Draw* draw, const SourceWish& wish, const std::string& type,
                              const std::string& fields) {
  std::string text = QuotedText("name", wish.name) + QuotedText("type", type);
  for (const std::string& top : wish.tops) text += QuotedText("top", top);
  text += wish.phase + " ";
  text += Maybe(draw, 0.05, FieldText("independent", true));
  return MessageText("layer", text + fields) + "\n";
}

// Returns true if the sample is an image that can be decoded and changed: of 1 or 3 channels.
inline bool WantsImage(const SourceWish& wish) {
  return wish.sample.rank() == 3 && (wish.sample[0] == 1 || wish.sample[0] == 3);
}

inline ImageShape ShapeOfImages(int64_t channels, const PixelSize& size) {
  return {static_cast<int>(channels), size.height, size.width};
}

// The number of labels of a record.
inline int64_t LabelsOf(const SourceWish& wish) {
  return std::max<int64_t>(1, static_cast<int64_t>(wish.tops.size()) - 1);
}

// Draws the path of a data file, without the ending.
inline std::string DrawDataPath(Draw* draw, const std::string& kind, const SourceWish& wish,
                                const ImageShape& shape, int64_t labels = 1) {
  return DataPath(wish.folder,
                  DataNameText(kind, wish.records, shape, wish.classes, labels, draw->Int(0, 99)));
}

// Draws how a layer reads its records: fields that data_param and image_data_param have.
inline std::string DrawReading(Draw* draw, const SourceWish& wish) {
  std::string text = FieldText("batch_size", wish.batch);
  text += Maybe(draw, 0.5, FieldText("shuffle", true));
  text += Maybe(draw, 0.2, IntText(draw, "rand_skip", 1, std::max<int64_t>(1, wish.records)));
  text += Maybe(draw, 0.3, IntText(draw, "threads", 0, 3));
  text += Maybe(draw, 0.03, FieldText("cache", true));
  text += Maybe(draw, 0.03, FieldText("precache", true));
  return text;
}

// Draws further fields of data_param.
inline std::string DrawDataFields(Draw* draw) {
  std::string text = Maybe(draw, 0.3, IntText(draw, "prefetch", 1, 3));
  text += Maybe(draw, 0.03, IntText(draw, "parser_threads", 1, 3));
  text += Maybe(draw, 0.03, IntText(draw, "side", 1, 7));
  return text;
}

// Returns the layer's message with its fields, and transform_param beside it or inside of it.
inline std::string WithTransform(Draw* draw, const std::string& message, const std::string& fields,
                                 const std::string& transform) {
  const std::string inner = MessageText("transform_param", transform);
  return draw->Chance(0.15) ? MessageText(message, fields + inner)
                            : MessageText(message, fields) + inner;
}

// Draws how encoded images get `channels` channels (1 or 3). Sets the channels of the image files.
// `mixed`: the files have both.
inline std::string DrawColour(Draw* draw, bool mixed, int64_t channels, int64_t* of_files) {
  const bool other = draw->Chance(0.25);
  *of_files = other ? 4 - channels : channels;
  if (!mixed && !other && !draw->Chance(0.1)) return "";
  return FieldText(channels == 3 ? "force_color" : "force_gray", true);
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_DATA_SOURCE_TEXT_H_
