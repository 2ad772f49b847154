// Turns images into the input of a net as its data layer does in phase TEST, bit for bit. It
// follows the record that DescribeImages made (data/augment/preprocessing.h). Everything that
// prepares single images for a net uses it: classify, detect, and Classifier and Transformer in
// Python.
#ifndef DOPPIO_DATA_AUGMENT_NET_INPUT_H_
#define DOPPIO_DATA_AUGMENT_NET_INPUT_H_

#include <string>
#include <vector>

#include "data/augment/augment.h"
#include "data/augment/transforms.h"
#include "data/decode/decode.h"
#include "proto/data.pb.h"
#include "proto/preprocessing.pb.h"

namespace doppio {

// Const methods may be called from several threads at once.
class NetInput {
 public:
  // `input` is the net's input: one channel is gray, three are red, green, blue if the record says
  // so, else blue, green, red. With `center_crop`, images are first cropped to the largest middle
  // part with the proportions that they are resized to. Throws UsageError or UserError if the
  // record contradicts itself or the input.
  NetInput(const Preprocessing& record, const ImageShape& input, bool center_crop = false);
  // Returns the values of the image file with the content `file`, channel by channel. Throws
  // FileError if the image is damaged, or too small for a record without a size.
  std::vector<float> Read(const std::string& file) const;
  // Returns the values of an image with the channels of the input, blue first. Changes the image.
  std::vector<float> Convert(Image* image) const;
  // Does what precedes the crop. The image then has the net's order of channels, and at least the
  // input's size. Throws FileError.
  void Prepare(Image* image) const;

 private:
  const ImageShape input_;
  const Preprocessing record_;
  const TransformationParameter changes_;
  const std::vector<const Transform*> transforms_;
  const bool center_crop_;
  Augment augment_;
};

// Decodes an image file to `channels` channels: gray, or blue, green, red, and turns it upright if
// the record says so. Throws FileError if the image is damaged.
Image DecodeFor(const Preprocessing& record, int channels, const std::string& file);

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_NET_INPUT_H_
