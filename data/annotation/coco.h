// COCO's annotations: one JSON file for all images.
#ifndef DOPPIO_DATA_ANNOTATION_COCO_H_
#define DOPPIO_DATA_ANNOTATION_COCO_H_

#include <string>
#include <vector>

#include "data/annotation/annotation.h"

namespace doppio {

struct CocoAnnotations {
  std::vector<std::string> class_names;  // of the categories, in order of their ids
  std::vector<ImageAnnotation> images;   // in the order of the file
};

// Parses an annotation file. Reads the lists images (id, file_name, height, width), annotations
// (image_id, category_id, bbox, iscrowd) and categories (id, name). `file` is the name in messages,
// and `root` is put in front of each path. Throws FileError, with the place in the file or in its
// lists.
CocoAnnotations ParseCoco(const std::string& text, const std::string& file,
                          const std::string& root);

}  // namespace doppio

#endif  // DOPPIO_DATA_ANNOTATION_COCO_H_
