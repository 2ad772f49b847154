#include "tools/pages/scaling_plot.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <sstream>

#include "tools/cli/text_table.h"
#include "tools/pages/html_text.h"

namespace doppio {
namespace {

// Sizes in pixels. The legend is below the axis.
constexpr double kWidth = 720, kLeft = 64, kRight = 20, kTop = 40, kPlotHeight = 280;
constexpr double kAxisHeight = 48, kLegendRow = 20;

struct Stroke {
  const char* color;
  const char* dashes;  // so that curves differ without colours
};
constexpr Stroke kStrokes[] = {
    {"#0072b2", "none"}, {"#d55e00", "8 4"}, {"#009e73", "2 3"}, {"#cc79a7", "10 3 2 3"}};

// Maps ranks and efficiencies to pixels.
class Area {
 public:
  explicit Area(int most_ranks) : doublings_(std::max(1.0, std::log2(most_ranks))) {}

  double X(int ranks) const {
    return kLeft + (kWidth - kLeft - kRight) * std::log2(ranks) / doublings_;
  }
  static double Y(double efficiency) { return kTop + kPlotHeight * (1 - efficiency); }

 private:
  const double doublings_;
};

std::string Pixel(double x, double y) { return Fixed(x, 1) + "," + Fixed(y, 1); }

std::string TextAt(double x, double y, const char* anchor, const std::string& text) {
  return "<text x=\"" + Fixed(x, 1) + "\" y=\"" + Fixed(y, 1) + "\" text-anchor=\"" + anchor +
         "\">" + HtmlText(text) + "</text>\n";
}

std::string GridLine(double x1, double y1, double x2, double y2) {
  return "<path d=\"M" + Pixel(x1, y1) + " L" + Pixel(x2, y2) + "\" stroke=\"#dddddd\"/>\n";
}

std::string Grid(const Area& area, const std::vector<ScalingPoint>& points) {
  std::string svg;
  for (int percent = 0; percent <= 100; percent += 20) {
    const double y = Area::Y(percent / 100.0);
    svg += GridLine(kLeft, y, kWidth - kRight, y);
    svg += TextAt(kLeft - 8, y + 4, "end", std::to_string(percent) + " %");
  }
  for (const ScalingPoint& point : points) {
    const double x = area.X(point.ranks);
    svg += GridLine(x, kTop, x, kTop + kPlotHeight);
    svg += TextAt(x, kTop + kPlotHeight + 18, "middle", std::to_string(point.ranks));
  }
  return svg + TextAt((kLeft + kWidth - kRight) / 2, kTop + kPlotHeight + 36, "middle", "ranks");
}

std::string Path(const Stroke& stroke, const std::string& points) {
  return "<polyline fill=\"none\" stroke=\"" + std::string(stroke.color) +
         "\" stroke-width=\"2\" stroke-dasharray=\"" + stroke.dashes + "\" points=\"" + points +
         "\"/>\n";
}

}  // namespace

std::string MakeScalingPlot(const std::string& title, const std::vector<ScalingLine>& lines) {
  const std::vector<ScalingPoint>& first = lines.front().points;
  const Area area(first.back().ranks);
  const double legend = kTop + kPlotHeight + kAxisHeight;
  const double height = legend + kLegendRow * static_cast<double>(lines.size());
  std::ostringstream svg;
  svg << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << Fixed(kWidth, 0) << "\" height=\""
      << Fixed(height, 0) << "\" viewBox=\"0 0 " << Fixed(kWidth, 0) << ' ' << Fixed(height, 0)
      << "\" font-family=\"Helvetica, sans-serif\" font-size=\"12\">\n<title>" << HtmlText(title)
      << "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      << TextAt(kLeft, 24, "start", title) << Grid(area, first);
  for (size_t i = 0; i < lines.size(); ++i) {
    const Stroke& stroke = kStrokes[i % std::size(kStrokes)];
    std::string points;
    for (const ScalingPoint& point : lines[i].points) {
      points += (points.empty() ? "" : " ") + Pixel(area.X(point.ranks), Area::Y(point.efficiency));
    }
    const double y = legend + kLegendRow * static_cast<double>(i);
    svg << Path(stroke, points) << Path(stroke, Pixel(kLeft, y) + " " + Pixel(kLeft + 40, y))
        << TextAt(kLeft + 50, y + 4, "start", lines[i].name);
  }
  svg << "</svg>\n";
  return svg.str();
}

}  // namespace doppio
