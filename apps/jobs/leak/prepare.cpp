#include <headrace/apps/jobs/leak/prepare.h>
#include <headrace/apps/jobs/leak/write_file.h>
#include <headrace/apps/run/command.h>
#include <headrace/apps/run/make_folder.h>
#include <headrace/apps/terminal/progress.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

using Clock = std::chrono::steady_clock;

struct PrepareOptions {
  std::filesystem::path output{};  // Folder of the three files.
  std::filesystem::path sounds{};  // A folder for each voice; empty: Debian's packages.
  std::uint64_t seed = 42;
  double hop_s = 5.0;  // From a recording's start to the next one's.
  double lowest_snr = -5.0;
  double highest_snr = 10.0;
  int limit = 0;  // Most training recordings; 0: all. The other splits: a quarter of that.
  bool waveforms = true;
  int threads = 0;
};

void add_recipe(CLI::App& line, PrepareOptions& options) {
  line.add_option("--seed", options.seed, "Of levels and noise")->capture_default_str();
  line.add_option("--hop", options.hop_s, "Seconds from a recording's start to the next one's")
      ->check(number_range(0.25, 3600.0))
      ->capture_default_str();
  line.add_option("--lowest-snr", options.lowest_snr, "Of background to leak, in dB")
      ->check(number_range(-60.0, 60.0))
      ->capture_default_str();
  line.add_option("--highest-snr", options.highest_snr, "Likewise")
      ->check(number_range(-60.0, 60.0))
      ->capture_default_str();
}

void add(CLI::App& line, PrepareOptions& options) {
  line.add_option("--output", options.output, "Folder of the files")->required();
  line.add_option("--sounds", options.sounds,
                  "Folder with a folder of WAV, FLAC or Ogg files for each voice; without it "
                  "Debian's Asterisk packages (112 MB)");
  add_recipe(line, options);
  line.add_option("--limit", options.limit,
                  "Most training recordings (a quarter of it in the others); 0: all")
      ->check(CLI::NonNegativeNumber);
  line.add_flag("!--no-waveforms", options.waveforms, "Leave segments_waveform out");
  add_threads(line, options.threads);
}

void say(std::string_view line) {
  fmt::print(stderr, "prepare leak: {}\n", line);
}

class PrepareLeak {
 public:
  explicit PrepareLeak(const PrepareOptions& options)
      : options_(options),
        mix_{.seed = options.seed,
             .hop_s = options.hop_s,
             .lowest_snr = options.lowest_snr,
             .highest_snr = options.highest_snr} {
    if (!(options.lowest_snr <= options.highest_snr)) {
      throw ConfigError(
          fmt::format("[prepare] --lowest-snr must not be above --highest-snr, got "
                      "{} and {}",
                      options.lowest_snr, options.highest_snr));
    }
  }

  ExitCode run() {
    const Clock::time_point start = Clock::now();
    sounds_ =
        options_.sounds.empty() ? debian_leak_sounds(say) : folder_leak_sounds(options_.sounds);
    if (complete()) {
      say(fmt::format("{} holds the three files already, made by the same recipe; kept",
                      options_.output.string()));
      return ExitCode::done;
    }
    make_folder("prepare", options_.output);
    for (const LeakSplit split : splits_)
      write(split);
    if (options_.sounds.empty()) {
      write_file_atomically(options_.output / "ATTRIBUTION.txt",
                            std::string(debian_leak_attribution()));
    }
    say(fmt::format(
        "{} in {}", options_.output.string(),
        monitor::format_seconds(std::chrono::duration<double>(Clock::now() - start).count())));
    return ExitCode::done;
  }

 private:
  std::string_view name(LeakSplit split) const {
    return leak_split_names[static_cast<std::size_t>(split)];
  }

  std::filesystem::path file(LeakSplit split) const {
    return options_.output / fmt::format("{}.h5", name(split));
  }

  std::string recipe_text(LeakSplit split) const {
    return fmt::format("leak 1: {}, {}, seed {}, hop {} s, SNR {} to {} dB, limit {}{}",
                       sounds_.digest, name(split), options_.seed, options_.hop_s,
                       options_.lowest_snr, options_.highest_snr, options_.limit,
                       options_.waveforms ? "" : ", no waveforms");
  }

  bool complete() const {
    return std::all_of(splits_.begin(), splits_.end(), [&](LeakSplit split) {
      return has_leak_file(file(split), recipe_text(split));
    });
  }

  std::int64_t limited(LeakSplit split, std::int64_t recordings) const {
    if (options_.limit == 0) return recordings;
    const std::int64_t most =
        split == LeakSplit::training ? options_.limit : (options_.limit + 3) / 4;
    return std::min(recordings, most);
  }

  void write(LeakSplit split) {
    const LeakBackgrounds backgrounds(sounds_, split, mix_);
    const std::int64_t recordings = limited(split, backgrounds.recordings());
    if (recordings < 2) {
      throw DataError(
          fmt::format("[prepare] the split {} must hold sounds of 10 s in one voice for "
                      "two recordings, got {}; give more sounds",
                      name(split), recordings));
    }
    Progress progress(fmt::format("prepare leak: {}", name(split)), recordings, "recordings");
    write_leak_file(backgrounds,
                    {.file = file(split),
                     .recordings = recordings,
                     .waveforms = options_.waveforms,
                     .threads = threads_of(options_.threads),
                     .recipe = recipe_text(split),
                     .training = &statistics_,
                     .measure = split == LeakSplit::training,
                     .progress = [&](std::int64_t done, std::int64_t) { progress.show(done); }});
    progress.end();
    say(fmt::format("{}: {} recordings, {} segments, {}", file(split).string(), recordings,
                    recordings * leak_longs * leak_shorts,
                    monitor::format_bytes(std::filesystem::file_size(file(split)))));
  }

  static constexpr std::array<LeakSplit, 3> splits_{LeakSplit::training, LeakSplit::validation,
                                                    LeakSplit::testing};

  const PrepareOptions& options_;
  LeakMix mix_;
  LeakSounds sounds_;
  LeakStatistics statistics_;
};

ExitCode run(const PrepareOptions& options, const CommandCall&) {
  return PrepareLeak(options).run();
}

}  // namespace

Command prepare_leak_command() {
  return make_command(
      "leak",
      "Log-mel segments of real speech and music with and without a leak's noise, as three "
      "HDF5 files",
      add, run);
}

}  // namespace headrace::inline v1::app
