// A net as a page for a browser. tools/web/net.js lays out the drawing and shows the details of
// each layer.
#ifndef DOPPIO_TOOLS_PAGES_NET_PAGE_H_
#define DOPPIO_TOOLS_PAGES_NET_PAGE_H_

#include <string>
#include <vector>

#include "core/net/graph/graph.h"
#include "tools/pages/net_drawing.h"

namespace doppio {

// Returns the page. `layers` are those that `drawing` was made from. `graphs`, one per phase,
// provide shapes and parameters; a layer that is in none of them is shown without these. `note` is
// shown beside the number of layers. `rankdir` is as in ToDot.
std::string MakeNetPage(const NetDrawing& drawing, const std::vector<LayerParameter>& layers,
                        const std::vector<Graph>& graphs, const std::string& rankdir,
                        const std::string& note);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_PAGES_NET_PAGE_H_
