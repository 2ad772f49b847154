// Opens the sources of data layers, by the parameters of the layers.
#ifndef DOPPIO_DATA_SOURCE_OPEN_SOURCE_H_
#define DOPPIO_DATA_SOURCE_OPEN_SOURCE_H_

#include <memory>

#include "core/base/random.h"
#include "data/record/source.h"

namespace doppio {

class ImageDataParameter;
class TransformationParameter;
class VideoDataParameter;
class WindowDataParameter;

// Opens the source of data_param's backend. Throws FileError, UserError.
std::unique_ptr<Source> OpenSource(const DataParameter& parameter, Phase phase);
// Returns the facts about the source of data_param's backend without opening it: the type's, or
// those of a database of images with a channel for each mean_value, with one if force_gray is set,
// or else with three. Throws UserError.
DeclaredFacts DeclaredFactsOf(const DataParameter& parameter,
                              const TransformationParameter& transform);
// Opens the text file of "path label..." lines that layer ImageData reads. Throws FileError,
// UserError.
std::unique_ptr<Source> OpenImageList(const ImageDataParameter& parameter);
// Opens the list of images of layers ImageSegData, DenseImageData and ImageLabelmapData. Its lines
// are "path label_path", "path label" or "path", by label_type. A record has the planes of the
// image, blue, green and red or one gray, and then one of the labels: the values of the image of
// labels (data/decode/label_image.h), or with `edges` its brightness. ReadSample resizes both by
// one of `transform`'s scale_factors. Images smaller than `transform`'s crop are extended to the
// right and to the bottom by mean_value and ignore_label. The labels of a record are the image's
// height and width, at most those of the crop. Throws FileError, UserError.
std::unique_ptr<Source> OpenImagePairs(const ImageDataParameter& parameter,
                                       const TransformationParameter& transform, bool edges,
                                       const Random& random);
// Opens the video that layer VideoData reads, with the program ffmpeg. Record i is frame
// i * (skip_frames + 1), blue, green and red, with the label 0. A camera is endless and delivers
// its next frame whatever the index. Reading in ascending order is fast. Throws FileError,
// UserError.
std::unique_ptr<Source> OpenVideo(const VideoDataParameter& parameter);
// Opens the windows that layer WindowData draws. The source is endless: record i is sample i. It
// applies transform_param itself. Throws FileError, UserError.
std::unique_ptr<Source> OpenWindows(const WindowDataParameter& parameter,
                                    const TransformationParameter& transform, const Random& random);

}  // namespace doppio

#endif  // DOPPIO_DATA_SOURCE_OPEN_SOURCE_H_
