// The objects in an image, as files of annotations describe them.
#ifndef DOPPIO_DATA_ANNOTATION_ANNOTATION_H_
#define DOPPIO_DATA_ANNOTATION_ANNOTATION_H_

#include <string>
#include <vector>

#include "core/base/error.h"

namespace doppio {

struct AnnotatedObject {
  std::string name;  // of the class
  // The outermost pixels of the object, counted from 0. They may be in the wrong order, or not
  // finite.
  double left = 0, top = 0, right = 0, bottom = 0;
  bool difficult = false;  // hard to recognise (VOC), or a crowd (COCO)
};

struct ImageAnnotation {
  std::string image;          // path of the image file; "" if unknown
  SourceLoc at;               // where the image is listed
  int height = 0, width = 0;  // of the image; 0: unknown
  std::vector<AnnotatedObject> objects;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_ANNOTATION_ANNOTATION_H_
