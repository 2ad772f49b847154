// What transform_param and the records in weights ask of the decoder of image files.
#ifndef DOPPIO_DATA_DECODE_DECODING_H_
#define DOPPIO_DATA_DECODE_DECODING_H_

#include <memory>

#include "data/record/source.h"

namespace doppio {

class TransformationParameter;

// Returns DecodeOptions with exif_rotation and sixteen_bit_range of `fields`, a
// TransformationParameter or Preprocessing.
template <class Fields>
DecodeOptions DecodingOf(const Fields& fields) {
  DecodeOptions options;
  options.upright = fields.exif_rotation();
  options.sixteen_bit_range = static_cast<int>(fields.sixteen_bit_range());
  return options;
}

// The reverse, for a Preprocessing.
template <class Fields>
void SetDecoding(const DecodeOptions& options, Fields* fields) {
  if (options.upright) fields->set_exif_rotation(true);
  if (options.sixteen_bit_range != kSixteenBits) {
    fields->set_sixteen_bit_range(static_cast<uint32_t>(options.sixteen_bit_range));
  }
}

// Throws UserError if sixteen_bit_range is not from 256 to kSixteenBits.
void CheckDecoding(const TransformationParameter& transform);

// Returns `source`, whose image files are decoded with `upright` and `sixteen_bit_range` of
// `options`.
std::unique_ptr<Source> WithDecoding(std::unique_ptr<Source> source, const DecodeOptions& options);

}  // namespace doppio

#endif  // DOPPIO_DATA_DECODE_DECODING_H_
