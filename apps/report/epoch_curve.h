#pragma once

#include <headrace/apps/plot/chart.h>
#include <headrace/apps/report/epoch_log.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Members whose curves are drawn one by one.
inline constexpr std::size_t most_drawn_members = 16;

/// A figure of a member over its epochs 1, 2, ..., all stages end to end, thinned where there are
/// many.
std::vector<CurvePoint> epoch_curve(const EpochLog& log, std::int64_t member,
                                    const std::string& column);

/// A column of metrics.csv as lines of a chart: of one member one, of several each faintly and
/// their mean, which alone has the name. The name may be empty.
std::vector<SvgSeries> column_series(const EpochLog& log, const std::string& column,
                                     const std::string& name, std::size_t colour);

/// Where the stages of the first member begin and end, each with its name, every second shaded;
/// nothing below two.
std::vector<SvgSpan> stage_spans(const EpochLog& log);

/// What an axis over epochs counts: "epoch", or with several stages "epoch, all stages".
std::string epoch_words(const EpochLog& log);

/// train_<figure> and val_<figure> over the epochs, and the stages.
SvgChart figure_chart(const EpochLog& log, const std::string& figure);

}  // namespace headrace::inline v1::app
