// Tells nets that find objects from nets that classify.
#ifndef DOPPIO_TOOLS_NETS_OBJECT_NET_H_
#define DOPPIO_TOOLS_NETS_OBJECT_NET_H_

#include <string>

#include "proto/net.pb.h"

namespace doppio {

// Returns true for types of layers whose top is a list of objects with boxes.
bool MakesDetections(const std::string& layer_type);

// Returns true if a layer of the net makes detections, or if the net has the input im_info, as
// those of py-faster-rcnn have.
bool FindsObjects(const NetParameter& net);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_NETS_OBJECT_NET_H_
