#include "bridgemark/report/gamma_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string_view>

namespace bridgemark {

namespace {

constexpr double kWidth = 620, kHeight = 380;                       // pixels
constexpr double kLeft = 56, kRight = 24, kTop = 92, kBottom = 48;  // margins
constexpr double kApart = 40;  // pixels from one gamma's number to the next
constexpr double kNoShare = std::numeric_limits<double>::quiet_NaN();

// A line of the drawing: a share of each point, NaN where it has none.
struct Curve {
  std::string_view title, colour;
  std::function<double(const GammaPoint&)> value;
};

double fit_share(const GammaPoint& point) {
  const DataScore& shape = point.scores.score(kDataShape);
  return shape.beside ? shape.value.mean / shape.beside->mean : kNoShare;
}

const Curve kCurves[] = {
    {"x0 tells of x1", "#4c72b0", [](const GammaPoint& point) { return point.told.mean; }},
    {"cost of transport / unpaired rows", "#dd8452",
     [](const GammaPoint& point) { return point.relative_cost; }},
    {"shape of the answers / of training rows", "#55a868", fit_share},
    {"movement of the reference alone", "#8c8c8c",
     [](const GammaPoint& point) { return point.movement_share; }}};

// Where gammas and shares lie in the drawing.
class Axes {
 public:
  explicit Axes(const GammaScan& scan)
      : low_(std::log(std::min(scan.points.front().gamma, scan.proposed))),
        high_(std::log(std::max(scan.points.back().gamma, scan.proposed))) {}

  double x(double gamma) const {
    return kLeft + (kWidth - kLeft - kRight) * (std::log(gamma) - low_) / (high_ - low_);
  }
  static double y(double share) {
    return kHeight - kBottom - (kHeight - kTop - kBottom) * std::clamp(share, 0.0, 1.0);
  }

 private:
  double low_, high_;
};

std::string text_at(double x, double y, std::string_view anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     text);
}

std::string line_between(double x1, double y1, double x2, double y2, std::string_view style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1,
                     x2, y2, style);
}

std::string grid_svg(const GammaScan& scan, const Axes& axes) {
  std::string svg;
  for (int i = 0; i <= 4; ++i) {
    const double y = Axes::y(0.25 * i);
    svg += line_between(kLeft, y, kWidth - kRight, y, "stroke=\"#dddddd\"");
    svg += text_at(kLeft - 6, y + 4, "end", fmt::format("{:.2g}", 0.25 * i));
  }
  double last = -kApart;
  for (const GammaPoint& point : scan.points) {
    const double x = axes.x(point.gamma);
    if (x - last < kApart) continue;  // it would lie on the one before
    last = x;
    svg += text_at(x, kHeight - kBottom + 18, "middle", fmt::format("{:.2g}", point.gamma));
  }
  return svg + text_at(0.5 * (kLeft + kWidth - kRight), kHeight - 10, "middle", "gamma");
}

std::string mark_svg(const Axes& axes, double gamma, const std::string& title, double y) {
  const double x = axes.x(gamma);
  return line_between(x, y, x, kHeight - kBottom, "stroke=\"#333333\" stroke-dasharray=\"4 3\"") +
         text_at(x, y - 4, "middle", fmt::format("{} {:.2g}", title, gamma));
}

std::string curve_svg(const GammaScan& scan, const Axes& axes, const Curve& curve, double legend) {
  std::string path, dots;
  for (const GammaPoint& point : scan.points) {
    const double value = point.failure.empty() ? curve.value(point) : kNoShare;
    if (std::isnan(value)) continue;
    const double x = axes.x(point.gamma), y = Axes::y(value);
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : " L", x, y);
    dots +=
        fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\" stroke=\"{}\"/>\n",
                    x, y, point.fits ? curve.colour : "#ffffff", curve.colour);
  }
  const double row = 18 + 17 * std::floor(legend / 2), x = legend == 0 || legend == 2 ? kLeft : 330;
  return fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"/>\n",
                     path.empty() ? "M0 0" : path, curve.colour) +
         dots +
         line_between(x, row - 4, x + 20, row - 4,
                      fmt::format("stroke=\"{}\" stroke-width=\"3\"", curve.colour)) +
         text_at(x + 26, row, "start", std::string(curve.title));
}

}  // namespace

std::string gamma_figure(const GammaScan& scan) {
  const Axes axes(scan);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
      "{1}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0}\" height=\"{1}\" "
      "fill=\"#ffffff\"/>\n",
      kWidth, kHeight);
  svg += grid_svg(scan, axes);
  svg += mark_svg(axes, scan.proposed, "proposed", kTop - 8);
  if (scan.half_told) svg += mark_svg(axes, *scan.half_told, "half told", kTop - 24);
  double legend = 0;
  for (const Curve& curve : kCurves) svg += curve_svg(scan, axes, curve, legend++);
  return svg + "</svg>\n";
}

}  // namespace bridgemark
