// The form of the label tops of the layers that read images.
#ifndef DOPPIO_LAYERS_SOURCE_LABEL_FORM_H_
#define DOPPIO_LAYERS_SOURCE_LABEL_FORM_H_

#include <cstdint>
#include <string>

namespace doppio {

enum class LabelForm {
  kNumbers,          // one or more numbers for each image
  kObjects,          // AnnotatedData: rows of 8 for the objects of the batch, as in SSD
  kCenteredObjects,  // BoxData: rows of 5 for the objects of each image, as for YOLOv2
};

// Numbers per object of kCenteredObjects: class (from 0), x, y, width, height; in fractions of the
// image, where x and y are the center. Unused rows are 0.
constexpr int64_t kCenteredBoxLabels = 5;

inline LabelForm LabelFormOf(const std::string& type) {
  if (type == "AnnotatedData") return LabelForm::kObjects;
  return type == "BoxData" ? LabelForm::kCenteredObjects : LabelForm::kNumbers;
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_SOURCE_LABEL_FORM_H_
