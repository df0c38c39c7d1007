#include <headrace/apps/report/compare_runs.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

// What less and more of it are called.
std::pair<std::string_view, std::string_view> words_of(FigureKind kind) {
  switch (kind) {
    case FigureKind::rate:
      return {"slower", "faster"};
    case FigureKind::seconds:
      return {"shorter", "longer"};
    case FigureKind::bytes:
      return {"less", "more"};
    case FigureKind::share:
    case FigureKind::learnt:
      return {"lower", "higher"};
  }
  return {};
}

std::string three_figures(double value) {
  const double size = std::abs(value);
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  return size >= 9.995 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

// Four places; of what is far beyond them as many figures.
std::string learnt_text(double value) {
  return std::abs(value) < 1e6 ? fmt::format("{:.4f}", value) : fmt::format("{:.4g}", value);
}

const char* unit_of(FigureKind kind) {
  if (kind == FigureKind::learnt) return "";
  return kind == FigureKind::share ? " points" : " %";
}

// Without its unit: what is learnt has none.
std::string number_text(FigureKind kind, double value) {
  return kind == FigureKind::learnt ? learnt_text(value) : three_figures(value);
}

// "12.1 ± 3.0 %", "3.10 ± 0.20 points", "0.0123"; without the second where no noise is known.
std::string amount_text(FigureKind kind, double value, std::optional<double> half_width) {
  std::string text = number_text(kind, std::abs(value));
  if (half_width) text += " ± " + number_text(kind, *half_width);
  return text + unit_of(kind);
}

// The factor that brings a difference of means to what is said of it.
double measure_of(FigureKind kind, const Spread& first) {
  if (kind == FigureKind::learnt) return 1.0;
  if (kind == FigureKind::share) return 100.0;
  return 100.0 / std::abs(first.mean);
}

}  // namespace

FigureDifference difference_of(FigureKind kind, const Spread& first, const Spread& other) {
  FigureDifference said;
  if (first.count == 0 || other.count == 0) {
    said.words = "one of them has none";
    return said;
  }
  const double measure = measure_of(kind, first);
  if (!std::isfinite(measure)) {
    said.finding = other.mean == first.mean ? DifferenceKind::same : DifferenceKind::noise_unknown;
    said.words = other.mean == first.mean ? "the same" : "the first is 0: no share of it is known";
    return said;
  }
  said.change = (other.mean - first.mean) * measure;
  const auto difference = welch_difference(first, other);
  said.half_width = difference ? difference->half_width * measure : 0.0;
  const std::string amount =
      amount_text(kind, said.change, difference ? std::optional(said.half_width) : std::nullopt);
  if (said.change == 0.0 && said.half_width == 0.0) {
    said.finding = DifferenceKind::same;
    said.words = "the same";
  } else if (!difference) {
    said.finding = DifferenceKind::noise_unknown;
    said.words = "one value only: no noise known";
    said.amount = (said.change < 0.0 ? '-' : '+') + amount;
  } else if (std::abs(said.change) <= said.half_width) {
    said.finding = DifferenceKind::within_noise;
    said.words = "no difference beyond noise";
    said.amount = (said.change < 0.0 ? '-' : '+') + amount;
  } else {
    const auto [less, more] = words_of(kind);
    said.finding = DifferenceKind::differs;
    said.words = fmt::format("{} by {}", said.change < 0.0 ? less : more, amount);
  }
  return said;
}

std::string figure_value(FigureKind kind, double value) {
  switch (kind) {
    case FigureKind::rate:
      return monitor::format_rate(value);
    case FigureKind::seconds:
      return monitor::format_seconds(value);
    case FigureKind::bytes:
      return monitor::format_bytes(static_cast<std::uint64_t>(std::max(0.0, value)));
    case FigureKind::share:
      return monitor::format_share(value);
    case FigureKind::learnt:
      return learnt_text(value);
  }
  return {};
}

}  // namespace headrace::inline v1::app
