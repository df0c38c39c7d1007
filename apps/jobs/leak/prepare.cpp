#include <headrace/apps/jobs/leak/prepare.h>

#include <headrace/apps/jobs/leak/write_file.h>
#include <headrace/apps/run/atomic_file.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/runtime/runtime.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

using Clock = std::chrono::steady_clock;

void say(std::string_view line) {
  fmt::print(stderr, "prepare leak: {}\n", line);
}

/// A line now and then, for a person who waits.
class Progress {
 public:
  explicit Progress(std::string_view split) : split_(split) {}
  void operator()(std::int64_t done, std::int64_t all) {
    const Clock::time_point now = Clock::now();
    if (done < all && now - last_ < std::chrono::seconds(2)) return;
    last_ = now;
    say(fmt::format("{}: {} of {} recordings", split_, done, all));
  }

 private:
  std::string_view split_;
  Clock::time_point last_ = Clock::now();
};

void make_folder(const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    throw ConfigError(fmt::format("[prepare] the folder {} must be one that can be made, got: {}",
                                  folder.string(), failed.message()));
  }
}

class PrepareLeak {
 public:
  explicit PrepareLeak(const PrepareLeakOptions& options)
      : options_(options),
        recipe_{.seed = options.seed,
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
    make_folder(options_.output);
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
    const LeakBackgrounds backgrounds(sounds_, split, recipe_);
    const std::int64_t recordings = limited(split, backgrounds.recordings());
    if (recordings < 2) {
      throw DataError(
          fmt::format("[prepare] the split {} must hold sounds of 10 s in one voice for "
                      "two recordings, got {}; give more sounds",
                      name(split), recordings));
    }
    write_leak_file(backgrounds,
                    {.file = file(split),
                     .recordings = recordings,
                     .waveforms = options_.waveforms,
                     .threads = options_.threads > 0 ? options_.threads : usable_cores(),
                     .recipe = recipe_text(split),
                     .training = &statistics_,
                     .measure = split == LeakSplit::training,
                     .progress = Progress(name(split))});
    say(fmt::format("{}: {} recordings, {} segments, {}", file(split).string(), recordings,
                    recordings * leak_longs * leak_shorts,
                    monitor::format_bytes(std::filesystem::file_size(file(split)))));
  }

  static constexpr std::array<LeakSplit, 3> splits_{LeakSplit::training, LeakSplit::validation,
                                                    LeakSplit::testing};

  const PrepareLeakOptions& options_;
  LeakRecipe recipe_;
  LeakSounds sounds_;
  LeakStatistics statistics_;
};

}  // namespace

ExitCode prepare_leak(const PrepareLeakOptions& options) {
  return PrepareLeak(options).run();
}

}  // namespace headrace::inline v1::app
