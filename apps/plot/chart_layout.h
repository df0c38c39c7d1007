#pragma once

#include <headrace/apps/plot/axis.h>
#include <headrace/apps/plot/canvas.h>
#include <headrace/apps/plot/chart.h>

#include <cstddef>

namespace headrace::inline v1::app {

/// Where the values of a chart stand, whatever draws it.
class ChartLayout {
 public:
  /// `box` is that of the lines alone.
  ChartLayout(const Chart& chart, const Box& box);

  /// Whether there is no number to draw; then nothing else is known.
  bool empty() const { return empty_; }
  const Box& box() const { return box_; }
  /// Of the heights; begins and ends at a tick.
  const Axis& up() const { return up_; }
  /// Along the chart; has the ticks that are seen alone.
  const Axis& along() const { return along_; }
  /// Of the longest layer.
  std::size_t cells() const { return cells_; }

  /// Inside the box, whatever the value.
  double x(double value) const;
  double y(double value) const;
  bool shows(const ChartSpan& span) const { return !(span.to < first_ || span.from > last_); }

 private:
  void measure(const Chart& chart);
  void place_axes(bool counts);

  Box box_;
  bool empty_ = true;
  std::size_t cells_ = 0;
  double first_ = 0.0;
  double last_ = 1.0;
  double low_ = 0.0;
  double high_ = 1.0;
  Axis up_;
  Axis along_;
};

}  // namespace headrace::inline v1::app
