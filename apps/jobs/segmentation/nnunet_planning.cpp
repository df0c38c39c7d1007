#include <headrace/apps/jobs/segmentation/nnunet_figures.h>
#include <headrace/apps/jobs/segmentation/nnunet_planning.h>
#include <headrace/engine/base/printable.h>

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace::inline v1::app {
namespace {

constexpr std::size_t longest_name = 60;
constexpr std::size_t most_names = 5;  // of cases in a line

std::string shapes_line(const NnUNetFingerprint& fingerprint) {
  const PerAxis shape = each_axis(fingerprint.shapes, numpy_median);
  const auto range = [&](std::size_t axis) {
    const auto by_axis = [axis](const auto& spacing) { return spacing[axis]; };
    const auto [least, most] = std::ranges::minmax(fingerprint.spacings, {}, by_axis);
    return least[axis] == most[axis] ? fmt::format("{:.3g}", least[axis])
                                     : fmt::format("{:.3g} to {:.3g}", least[axis], most[axis]);
  };
  return fmt::format(
      "images of a median of {:g}x{:g}x{:g} voxels (z, y, x; {:.0f} % of the files, the rest is "
      "0), {} x {} x {} mm apart",
      shape[0], shape[1], shape[2], 100 * fingerprint.median_relative_size_after_cropping, range(0),
      range(1), range(2));
}

std::string labels_line(const NnUNetRaw& raw, const NnUNetFingerprint& fingerprint) {
  std::vector<std::string> parts;
  for (const NnUNetLabel& label : raw.labels) {
    if (label.values == std::vector<std::int64_t>{0}) continue;
    std::int64_t cases = 0;  // at least as many have the region
    for (const std::int64_t value : label.values)
      if (value > 0)
        cases = std::max(cases, fingerprint.cases_with_value[static_cast<std::size_t>(value)]);
    parts.push_back(fmt::format("{} ({}) in {}{} cases", printable(label.name, longest_name),
                                fmt::join(label.values, "+"),
                                label.values.size() > 1 ? "at least " : "", cases));
  }
  if (raw.ignore) parts.push_back(fmt::format("{} counts nowhere", *raw.ignore));
  return fmt::format("{}: {}", raw.regions() ? "regions" : "classes", fmt::join(parts, ", "));
}

std::string channel_line(const NnUNetRaw& raw, const NnUNetFingerprint& fingerprint,
                         std::size_t channel) {
  const NnUNetForegroundValues& values = fingerprint.intensity[channel];
  return fmt::format("channel {} ({}): foreground {:.4g} ± {:.4g}, 99 % of it {:.4g} to {:.4g}",
                     channel, printable(raw.channels[channel], longest_name), values.mean,
                     values.std, values.percentile_00_5, values.percentile_99_5);
}

}  // namespace

NnUNetPlanning plan_nnunet_data(const std::filesystem::path& folder,
                                const NnUNetFingerprintOptions& options, double gpu_memory,
                                bool follow_links) {
  NnUNetPlanning made{.raw = read_nnunet_raw(folder, follow_links)};
  made.fingerprint = nnunet_fingerprint(made.raw, options);
  made.plans = plan_segmentation(
      made.fingerprint,
      {.channel_names = made.raw.channels,
       .labels = static_cast<std::int64_t>(made.raw.labels.size()) + (made.raw.ignore ? 1 : 0),
       .cases = static_cast<std::int64_t>(made.raw.cases.size()),
       .gpu_memory = gpu_memory});
  return made;
}

std::vector<std::string> describe(const NnUNetRaw& raw, const NnUNetFingerprint& fingerprint) {
  std::vector<std::string> lines{
      fmt::format("cases to train on: {}{}; channels: {}; files: {}", raw.cases.size(),
                  raw.test.empty() ? "" : fmt::format("; to predict: {}", raw.test.size()),
                  raw.channels.size(), printable(raw.file_ending)),
      shapes_line(fingerprint), labels_line(raw, fingerprint)};
  for (std::size_t channel = 0; channel < raw.channels.size(); ++channel)
    lines.push_back(channel_line(raw, fingerprint, channel));
  const std::vector<std::string>& displaced = fingerprint.displaced;
  if (!displaced.empty()) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min(most_names, displaced.size()); ++i)
      names.push_back(printable(displaced[i], longest_name));
    lines.push_back(fmt::format(
        "{} cases have a channel or label whose header places it elsewhere than the first channel "
        "({}{}): look at one of them",
        displaced.size(), fmt::join(names, ", "), displaced.size() > most_names ? ", ..." : ""));
  }
  return lines;
}

std::vector<std::string> describe(const NnUNetPlanning& planning) {
  std::vector<std::string> lines = describe(planning.raw, planning.fingerprint);
  std::ranges::copy(describe(planning.plans), std::back_inserter(lines));
  return lines;
}

}  // namespace headrace::inline v1::app
