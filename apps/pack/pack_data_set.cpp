#include <headrace/apps/inspect/image_data_options.h>
#include <headrace/apps/pack/pack_data_set.h>
#include <headrace/apps/run/stop_signals.h>
#include <headrace/apps/terminal/progress.h>
#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/volume/nnunet_fingerprint.h>
#include <headrace/loaders/volume/nnunet_raw.h>
#include <headrace/loaders/volume/volume_preparation.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;
using Scheme = VolumeNormalization::Scheme;

const std::map<std::string, Scheme> schemes{{"none", Scheme::none},
                                            {"zscore", Scheme::zscore},
                                            {"zscore-nonzero", Scheme::zscore_nonzero},
                                            {"ct", Scheme::ct},
                                            {"zero-to-one", Scheme::zero_to_one},
                                            {"by-255", Scheme::by_255}};

/// Thrown through the fingerprint, which knows of no stop.
struct Stopped {};

std::vector<VolumeNormalization> named_schemes(const DataSetPacking& packing,
                                               const NnUNetRaw& raw) {
  const std::size_t channels = raw.channels.size();
  if (packing.normalize.size() > 1 && packing.normalize.size() != channels) {
    throw ConfigError(
        fmt::format("[pack] --normalize must be one word, or one for each of {} channels, got {}",
                    channels, packing.normalize.size()));
  }
  std::vector<VolumeNormalization> made(channels);
  for (std::size_t i = 0; i < channels && !packing.normalize.empty(); ++i)
    made[i].scheme = schemes.at(packing.normalize[packing.normalize.size() == 1 ? 0 : i]);
  return made;
}

/// Where a channel is CT, its numbers are those of the whole data set.
void add_figures(std::vector<VolumeNormalization>& channels, const DataSetPacking& packing,
                 const NnUNetRaw& raw, const std::stop_token& stop) {
  const auto is_ct = [](const VolumeNormalization& n) { return n.scheme == Scheme::ct; };
  if (std::ranges::none_of(channels, is_ct)) return;
  Progress view("pack: values", static_cast<std::int64_t>(raw.cases.size()), "cases");
  const NnUNetFingerprint found =
      nnunet_fingerprint(raw, {.threads = packing.threads,
                               .memory = packing.memory,
                               .on_progress = [&](std::int64_t done, std::int64_t) {
                                 if (stop.stop_requested()) throw Stopped();
                                 view.show(done);
                               }});
  view.end();
  for (std::size_t i = 0; i < channels.size(); ++i) {
    if (!is_ct(channels[i])) continue;
    const NnUNetForegroundValues& values = found.intensity[i];
    channels[i] = {.scheme = Scheme::ct,
                   .low = values.percentile_00_5,
                   .high = values.percentile_99_5,
                   .mean = values.mean,
                   .deviation = values.std};
  }
}

void check_apart(const DataSetPacking& packing) {
  std::error_code none;
  for (const char* part : {"", "imagesTr", "labelsTr", "imagesTs"}) {
    if (fs::equivalent(packing.output, packing.input / part, none)) {
      throw ConfigError("[pack] OUTPUT must be a folder of its own, got " +
                        packing.output.string() +
                        ", in which the data set lies; name another folder");
    }
  }
}

/// Of files that their headers place elsewhere than their case's first channel.
void warn_of_places(const std::vector<PreparedCase>& cases) {
  constexpr std::size_t most_names = 5;
  std::vector<std::string> names;
  std::size_t displaced = 0;
  for (const PreparedCase& one : cases) {
    if (one.placed_together) continue;
    if (++displaced <= most_names) names.push_back(printable(one.name));
  }
  if (displaced == 0) return;
  fmt::print(
      stderr,
      "pack: {} cases have a channel or label whose header places it elsewhere than the first "
      "channel ({}{}): look at one of them\n",
      displaced, fmt::join(names, ", "), displaced > most_names ? ", ..." : "");
}

std::uintmax_t bytes_of(const std::vector<PreparedCase>& cases) {
  std::uintmax_t bytes = 0;
  for (const PreparedCase& one : cases)
    bytes += fs::file_size(one.image) + (one.label.empty() ? 0 : fs::file_size(one.label));
  return bytes;
}

}  // namespace

std::string DataSetPacking::given() const {
  if (!normalize.empty()) return "--normalize";
  if (follow_links) return "--follow-links";
  return crop ? "" : "--no-crop";
}

void add_data_set_options(CLI::App& line, DataSetPacking& packing) {
  line.add_option("--normalize", packing.normalize,
                  "Of a data set: none, zscore (each image by its own values; if left out), "
                  "zscore-nonzero, ct (by the data set's foreground), zero-to-one or by-255; one, "
                  "or one for each channel")
      ->check(CLI::IsMember(schemes))
      ->expected(1, 1024);
  line.add_flag("!--no-crop", packing.crop,
                "Of a data set: leave what is 0 around the images where it is");
  add_follow_links(line, packing.follow_links);
}

ExitCode pack_data_set(const DataSetPacking& packing) {
  const NnUNetRaw raw = read_nnunet_raw(packing.input, packing.follow_links);
  check_apart(packing);
  StopSignals signals;
  VolumePreparation preparation{
      .spacing = packing.spacing, .crop = packing.crop, .channels = named_schemes(packing, raw)};
  const auto cases = static_cast<std::int64_t>(raw.cases.size());
  std::vector<PreparedCase> prepared;
  std::int64_t kept = 0;
  double seconds = 0;
  try {
    add_figures(preparation.channels, packing, raw, signals.token());
    Progress view("pack", cases, "cases");
    prepared = prepare_cases(raw.cases, preparation,
                             {.folder = packing.output,
                              .chunk = packing.chunk,
                              .threads = packing.threads,
                              .memory = packing.memory,
                              .values = raw.values(),
                              .on_progress = [&](std::int64_t done, std::int64_t before,
                                                 std::int64_t) { view.show(done, kept = before); },
                              .on_changed =
                                  [&](std::int64_t files) {
                                    view.say(fmt::format(
                                        "{} files were changed since they were prepared; their "
                                        "cases are prepared anew",
                                        files));
                                  },
                              .stop = signals.token()});
    seconds = view.seconds();
    view.end();
  } catch (const Stopped&) {
    // Nothing is prepared yet.
  }
  if (prepared.size() < raw.cases.size()) {
    fmt::print(stderr, "pack: stopped after {} of {} cases; the same command goes on there\n",
               prepared.size(), cases);
    return signals.exit_code();
  }
  warn_of_places(prepared);
  fmt::print("{}: {} cases{}, {}, {}\n", packing.output.string(), cases,
             kept > 0 ? fmt::format(", {} from an earlier run", kept) : "",
             monitor::format_bytes(bytes_of(prepared)), monitor::format_seconds(seconds));
  return ExitCode::done;
}

}  // namespace headrace::inline v1::app
