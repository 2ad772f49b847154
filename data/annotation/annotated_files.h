// A source of image files and the objects in them, from annotations of PASCAL VOC or COCO.
#ifndef DOPPIO_DATA_ANNOTATION_ANNOTATED_FILES_H_
#define DOPPIO_DATA_ANNOTATION_ANNOTATED_FILES_H_

#include <memory>

#include "data/record/source.h"

namespace doppio {

class RoiDataParameter;

// Opens the images that `parameter` lists. A record is the decoded image, blue, green, red, and its
// objects, whose labels begin at 1. Objects of other classes than `class_name`, and unusable boxes
// (data/record/boxes.h), are left out with a warning; boxes are clipped to the image. Leaves out
// images without objects that are not difficult unless `empty_ones` is true. `decoding` may ask for
// upright images: boxes then refer to the upright image, unless the annotation states the size of
// the stored one. Throws FileError, ErrorList or UserError.
std::unique_ptr<Source> OpenAnnotatedFiles(const RoiDataParameter& parameter, bool empty_ones,
                                           const DecodeOptions& decoding = {});

}  // namespace doppio

#endif  // DOPPIO_DATA_ANNOTATION_ANNOTATED_FILES_H_
