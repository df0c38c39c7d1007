#include <headrace/apps/plot/look.h>
#include <headrace/apps/plot/matrix_chart.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr double names_height = 50.0;       // below
constexpr double most_names_width = 130.0;  // at the left
constexpr double gap = 1.0;
constexpr TextStyle small{.height = 10.0, .colour = look::faint};

class MatrixPlot {
 public:
  MatrixPlot(Canvas& canvas, const Box& box, const MatrixChart& chart)
      : canvas_(canvas), box_(box), chart_(chart), size_(chart.counts.size()) {
    double names = 0.0;
    for (std::size_t i = 0; i < size_; ++i)
      names = std::max(names, Canvas::text_width(name(i), small));
    left_ = box.left + 8.0 + std::min(names, most_names_width);
    cell_ = std::min(box.right() - left_ - 14.0, box.height - look::title_height - names_height) /
            static_cast<double>(size_);
  }

  void run() {
    canvas_.text(chart_.title, {box_.left, box_.top + look::title_height - 22.0}, look::title);
    for (std::size_t row = 0; row < size_; ++row) {
      const auto& counts = chart_.counts[row];
      const std::int64_t all = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
      for (std::size_t column = 0; column < size_; ++column)
        cell(row, column, counts[column],
             all == 0 ? 0.0 : static_cast<double>(counts[column]) / static_cast<double>(all));
    }
    names();
  }

  double bottom() const { return top() + side() + names_height; }

 private:
  std::string name(std::size_t i) const {
    return i < chart_.names.size() ? chart_.names[i] : std::to_string(i);
  }
  double top() const { return box_.top + look::title_height; }
  double side() const { return cell_ * static_cast<double>(size_); }
  double middle(std::size_t i) const { return (static_cast<double>(i) + 0.5) * cell_; }

  void cell(std::size_t row, std::size_t column, std::int64_t count, double share) {
    const Box box{.left = left_ + cell_ * static_cast<double>(column) + gap,
                  .top = top() + cell_ * static_cast<double>(row) + gap,
                  .width = cell_ - 2.0 * gap,
                  .height = cell_ - 2.0 * gap};
    canvas_.rectangle(box, look::blue.paler(0.95 - 0.95 * share));
    const Colour ink = share > 0.55 ? look::paper : look::ink;
    const Spot at{box.left + box.width / 2.0, box.top + box.height / 2.0};
    const TextStyle number{.height = 11.0, .colour = ink, .anchor = Anchor::middle};
    if (cell_ >= 48.0) {
      canvas_.text(fmt::format("{:.0f} %", 100.0 * share), {at.x, at.y - 9.0}, number);
      TextStyle below = number;
      below.height = 9.0;
      canvas_.text(std::to_string(count), {at.x, at.y + 10.0}, below);
    } else if (cell_ >= 28.0) {
      canvas_.text(fmt::format("{:.0f}", 100.0 * share), at, number);
    }
  }

  // At the left and below, as many as have room.
  void names() {
    TextStyle at_left = small;
    at_left.anchor = Anchor::right;
    TextStyle below = small;
    below.anchor = Anchor::middle;
    const auto step = static_cast<std::size_t>(std::max(1.0, std::ceil(18.0 / cell_)));
    for (std::size_t i = 0; i < size_; i += step) {
      canvas_.text(cut_to_width(name(i), most_names_width, at_left),
                   {left_ - 8.0, top() + middle(i)}, at_left);
      canvas_.text(cut_to_width(name(i), cell_ * static_cast<double>(step) - 6.0, below),
                   {left_ + middle(i), top() + side() + 14.0}, below);
    }
    canvas_.text("predicted class; rows are the true class",
                 {left_ + side() / 2.0, top() + side() + 36.0}, below);
  }

  Canvas& canvas_;
  Box box_;
  const MatrixChart& chart_;
  std::size_t size_;
  double left_ = 0.0;
  double cell_ = 0.0;
};

}  // namespace

double draw(Canvas& canvas, const Box& box, const MatrixChart& chart) {
  if (chart.counts.empty()) return box.top;
  MatrixPlot plot(canvas, box, chart);
  plot.run();
  return plot.bottom();
}

}  // namespace headrace::inline v1::app
