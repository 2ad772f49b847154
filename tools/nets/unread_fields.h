// Warnings about messages of a layer that its type does not read: dropout_param in an InnerProduct.
#ifndef DOPPIO_TOOLS_NETS_UNREAD_FIELDS_H_
#define DOPPIO_TOOLS_NETS_UNREAD_FIELDS_H_

#include <string>
#include <vector>

#include "core/net/contract/warning.h"
#include "core/net/graph/read_fields.h"
#include "core/net/spec/prototxt.h"

namespace doppio {

// Returns true if layers of some type read this field of LayerParameter.
bool IsReadByALayer(const std::string& field);

// Returns the warning for one of UnreadFields(layer): which type reads the field, or which message
// that the layer reads has the same fields.
Warning UnreadWarning(const LayerParameter& layer, const FieldPlaces& places,
                      const std::string& path);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_NETS_UNREAD_FIELDS_H_
