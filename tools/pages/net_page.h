// A net as a page for a browser: tools/web/net.js lays the drawing out and shows what is known of
// each layer.
#ifndef DOPPIO_TOOLS_PAGES_NET_PAGE_H_
#define DOPPIO_TOOLS_PAGES_NET_PAGE_H_

#include <string>
#include <vector>

#include "core/net/graph/graph.h"
#include "tools/pages/net_drawing.h"

namespace doppio {

// `layers` are those that `drawing` was made of. `graphs`, for one phase each, tell shapes and
// parameters; a layer that none of them has is drawn without. `note` is shown beside the number of
// layers. `rankdir` as in ToDot.
std::string MakeNetPage(const NetDrawing& drawing, const std::vector<LayerParameter>& layers,
                        const std::vector<Graph>& graphs, const std::string& rankdir,
                        const std::string& note);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_PAGES_NET_PAGE_H_
