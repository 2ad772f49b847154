// PASCAL VOC's annotations: an XML file for each image.
#ifndef DOPPIO_DATA_ANNOTATION_VOC_H_
#define DOPPIO_DATA_ANNOTATION_VOC_H_

#include <string>
#include <vector>

#include "data/annotation/annotation.h"

namespace doppio {

// Parses an annotation. Reads the tags size/width, size/height, object/name, object/difficult and
// object/bndbox, whose pixels are counted from 1, and skips all others. `file` is the name in
// messages. Throws FileError, with the place in the file.
ImageAnnotation ParseVoc(const std::string& text, const std::string& file);

// Reads the annotations of the images in `list`, a text file of "image annotation" lines. `root` is
// put in front of each path. Throws all mistakes at once as an ErrorList or a FileError.
std::vector<ImageAnnotation> ReadVocList(const std::string& list, const std::string& root);

}  // namespace doppio

#endif  // DOPPIO_DATA_ANNOTATION_VOC_H_
