#pragma once

#include <headrace/apps/figures/epoch_log.h>
#include <headrace/apps/plot/chart.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Members whose curves are drawn one by one.
inline constexpr std::size_t most_drawn_members = 16;

/// A column of metrics.csv, times a factor, as lines of a chart over epochs 1, 2, ..., all stages
/// end to end, thinned where there are many: of one member one, of several each faintly and their
/// mean, which alone has the name. The name may be empty.
std::vector<ChartSeries> column_series(const EpochLog& log, const std::string& column,
                                       const std::string& name, std::size_t colour,
                                       double factor = 1.0);
void add_column(Chart& chart, const EpochLog& log, const std::string& column,
                const std::string& name, std::size_t colour, double factor = 1.0);

/// Where the stages of the first member begin and end, each with its name, every second shaded;
/// nothing below two.
std::vector<ChartSpan> stage_spans(const EpochLog& log);

/// What an axis over epochs counts: "epoch", or with several stages "epoch, all stages".
std::string epoch_words(const EpochLog& log);

/// A chart over epochs with the stages in it, as yet without a curve.
Chart epoch_chart(const EpochLog& log, const std::string& title, const std::string& unit = {});
/// One with train_<figure> and val_<figure>.
Chart figure_chart(const EpochLog& log, const std::string& figure);

}  // namespace headrace::inline v1::app
