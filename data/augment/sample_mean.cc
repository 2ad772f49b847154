#include "data/augment/sample_mean.h"

#include "proto/data.pb.h"

namespace doppio {

SampleMean::SampleMean(const TransformationParameter& parameter, bool centred, const SourceLoc& at)
    : values_(parameter.mean_value().begin(), parameter.mean_value().end()),
      centred_(centred),
      file_(parameter.mean_file()),
      at_(at) {
  if (!parameter.has_mean_file()) return;
  try {
    image_ = ReadMeanFile(file_);
  } catch (const FileError& e) {
    throw FileError(e.at().known() ? e.at() : at, e.message());
  }
}

const float* SampleMean::Row(const ImageShape& sample, int top, int left, int channel,
                             int y) const {
  const ImageShape& shape = image_.shape;
  if (centred_) {
    top = (shape.height - sample.height) / 2;
    left = (shape.width - sample.width) / 2;
  }
  const int64_t row = int64_t{channel} * shape.height + top + y;
  return image_.values.data() + row * shape.width + left;
}

void SampleMean::CheckImage(const ImageShape& image) const {
  if (is_image() && !centred_ && image_.shape != image) {
    Refuse(", but the image is " + image.ToString() +
           "; a mean file must be made from images of the same size");
  }
  const size_t means = values_.size();
  if (means > 1 && means != static_cast<size_t>(image.channels)) {
    throw UserError({}, "transform_param has ", means, " mean_value, but the image has ",
                    image.channels, image.channels == 1 ? " channel" : " channels",
                    "; give one, or one per channel",
                    image.channels == 1 && means == 3
                        ? ", or decode gray image files in colour by force_color: true"
                        : "");
  }
}

void SampleMean::CheckSample(const ImageShape& sample) const {
  const ImageShape& shape = image_.shape;
  if (is_image() && (sample.channels != shape.channels || sample.height > shape.height ||
                     sample.width > shape.width)) {
    Refuse(", too little for samples of " + sample.ToString());
  }
}

void SampleMean::Refuse(const std::string& why) const {
  throw UserError(at_, "the mean '", file_, "' is ", image_.shape.ToString(), why);
}

}  // namespace doppio
