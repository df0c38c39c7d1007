#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace headrace::inline v1::app {

/// `headrace train`.
struct TrainOptions {
  std::filesystem::path config;
  std::vector<std::string> settings;  ///< "a.b=c", later ones win.
  std::filesystem::path resume;       ///< A run folder; empty for a new run.
  std::optional<int> fold;            ///< Only this fold.
  bool dry_run = false;               ///< Check, forecast, and stop before the first step.
  std::string log_level;              ///< A word of run/log_level.h; empty: not given.
};

/// `headrace predict`.
struct PredictOptions {
  std::filesystem::path checkpoint;
  std::filesystem::path data;
  std::filesystem::path output;
  std::string device = "auto";
  int batch = 0;  ///< Rows at once; 0: as in training.
};

/// `headrace bench loader`.
struct BenchLoaderOptions {
  std::filesystem::path config;
  std::vector<std::string> settings;
  double step_s = 0.0;  ///< Pace of the consumer; 0: as fast as batches come.
  int epochs = 1;
  long batches = 0;  ///< Stop after so many; 0: whole epochs.
  std::filesystem::path json;
};

/// `headrace prepare glaucoma`.
struct PrepareGlaucomaOptions {
  int side = 28;
  std::filesystem::path output;
  int limit = 0;    ///< Most training samples; 0: all 30,000. Test samples are a sixth of that.
  int threads = 0;  ///< 0: usable cores.
};

/// `headrace prepare leak`.
struct PrepareLeakOptions {
  std::filesystem::path output;  ///< Folder of the three files.
  std::filesystem::path sounds;  ///< A folder for each voice; empty: Debian's packages.
  std::uint64_t seed = 42;
  double hop_s = 5.0;  ///< From a recording's start to the next one's.
  double lowest_snr = -5.0;
  double highest_snr = 10.0;
  int limit = 0;  ///< Most training recordings; 0: all. The other splits: a quarter of that.
  bool waveforms = true;
  int threads = 0;  ///< 0: usable cores.
};

/// `headrace pack table`.
struct PackTableOptions {
  std::filesystem::path input;        ///< HDF5 file, or folder of .npy files.
  std::filesystem::path output;       ///< HDF5 file.
  std::vector<std::string> datasets;  ///< Of an HDF5 file; empty: all.
  std::string layout = "contiguous";  ///< contiguous, zstd or lz4.
  std::int64_t chunk_rows = 0;        ///< 0: about 256 KiB a chunk.
};

/// `headrace pack images`.
struct PackImagesOptions {
  std::filesystem::path data;   ///< Folder with one folder per class, or manifest.
  std::filesystem::path masks;  ///< Folder of masks; empty: none.
  std::string mask_suffix;
  std::filesystem::path root;  ///< Of a manifest's paths; empty: its folder.
  std::filesystem::path output;
  bool crop_index = false;
  int segment = 64;      ///< Pixels between two places where a crop may begin.
  int longest_side = 0;  ///< 0: as it is.
  int quality = 90;
  std::size_t alignment = 4096;
  int threads = 0;  ///< 0: usable cores.
  bool skip_bad = false;
};

/// `headrace pack verify`.
struct PackVerifyOptions {
  std::filesystem::path pack;
  std::filesystem::path data;  ///< The originals; empty: only checksums and decoding.
  std::filesystem::path masks;
  std::string mask_suffix;
  std::filesystem::path root;
  int crops = 4;  ///< Of each image.
  std::uint64_t seed = 0;
  int threads = 0;
};

/// `headrace inspect`.
struct InspectOptions {
  std::filesystem::path data;  ///< As for `pack images`, or a pack, or a configuration (YAML).
  std::vector<std::string> settings;
  std::filesystem::path masks;
  std::string mask_suffix;
  std::filesystem::path root;
  std::filesystem::path sheet = "inspect.png";  ///< Empty: no contact sheet.
  int samples = 8;                              ///< Rows of the sheet.
  int draws = 6;                                ///< What the pipeline makes of each.
  std::filesystem::path json;
  int threads = 0;
};

using Command = std::variant<TrainOptions, PredictOptions, BenchLoaderOptions,
                             PrepareGlaucomaOptions, PrepareLeakOptions, PackTableOptions,
                             PackImagesOptions, PackVerifyOptions, InspectOptions>;

/// What the command line asks for: a command, or nothing but an exit code (help was printed to
/// standard output, or a mistake was reported on standard error).
struct CommandLine {
  std::optional<Command> command{};
  int exit_code = 0;
};

/// Reads a command line. All programs share it, so that help and mistakes are answered by
/// whichever was started, without LibTorch. Never throws for what a user typed.
CommandLine parse_command_line(int argc, const char* const* argv);

}  // namespace headrace::inline v1::app
