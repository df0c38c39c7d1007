#include <headrace/apps/config/units.h>
#include <headrace/apps/pack/pack_data_set.h>
#include <headrace/apps/pack/pack_volume_list.h>
#include <headrace/apps/run/command.h>
#include <headrace/apps/run/stop_signals.h>
#include <headrace/apps/task/volume_copies.h>
#include <headrace/apps/terminal/progress.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/file/file_identity.h>
#include <headrace/loaders/volume/chunk_store_writer.h>
#include <headrace/loaders/volume/derived_volumes.h>
#include <headrace/loaders/volume/nnunet_raw.h>
#include <headrace/loaders/volume/open_volume.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;
using monitor::format_bytes;
using monitor::format_seconds;

struct PackVolumesOptions {
  fs::path input{};
  fs::path output{};
  bool each = false;  // Every entry of the folder is a volume.
  std::string dataset{};
  std::vector<std::int64_t> chunk{64, 64, 64};
  std::string codec = "lz4";
  int level = 3;
  std::string dtype{};         // Empty: as it is.
  std::vector<double> clip{};  // Least and most value.
  bool median = false;
  std::vector<double> spacing{};  // Millimetres along z, y, x.
  bool labels = false;
  std::string memory = "1GiB";
  int threads = 0;
  DataSetPacking data_set{};
};

const std::map<std::string, ChunkStoreCodec> codecs{
    {"raw", ChunkStoreCodec::raw}, {"lz4", ChunkStoreCodec::lz4}, {"zstd", ChunkStoreCodec::zstd}};
constexpr std::array dtypes{DType::uint8,   DType::int8,     DType::uint16, DType::int16,
                            DType::float16, DType::bfloat16, DType::float32};

void add_conversion(CLI::App& line, PackVolumesOptions& options) {
  std::vector<std::string> names;
  for (DType dtype : dtypes)
    names.emplace_back(name_of(dtype));
  line.add_option("--dtype", options.dtype,
                  "Of the stored voxels; floats become whole numbers with a scale and an offset")
      ->check(CLI::IsMember(names));
  line.add_option("--clip", options.clip, "Least and most value; what is beyond becomes these")
      ->expected(2);
  line.add_flag("--median", options.median, "Each voxel becomes the median of the 27 around it");
  line.add_option("--spacing", options.spacing, "Millimetres along z, y, x: resample to these")
      ->expected(3);
  line.add_flag("--labels", options.labels, "They are labels: resampled, each stays one of them");
}

void add(CLI::App& line, PackVolumesOptions& options) {
  line.add_option(
          "INPUT", options.input,
          "NIfTI, TIFF, a folder of slices, HDF5, Zarr, .b2nd; with --each a folder of such; or a "
          "data set in nnU-Net's raw layout, whose cases are prepared to be learnt from")
      ->required();
  line.add_option("OUTPUT", options.output,
                  "File to write (.hrv); with --each, or of a data set, a folder")
      ->required();
  line.add_flag("--each", options.each, "Every entry of INPUT is a volume of its own");
  line.add_option("--dataset", options.dataset, "In files that hold several: \"/raw\"");
  line.add_option("--chunk", options.chunk, "Voxels of a chunk along z, y, x")
      ->expected(3)
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  line.add_option("--codec", options.codec, "raw, lz4 (fast) or zstd (small)")
      ->check(CLI::IsMember(codecs))
      ->capture_default_str();
  line.add_option("--level", options.level, "Of zstd")
      ->check(CLI::Range(1, 19))
      ->capture_default_str();
  add_conversion(line, options);
  line.add_option("--memory", options.memory, "Most that decoded parts of INPUT take")
      ->capture_default_str();
  add_data_set_options(line, options.data_set);
  add_threads(line, options.threads);
}

void check(const PackVolumesOptions& options) {
  if (options.labels && options.median)
    throw ConfigError("[pack] --labels must stand without --median, which makes labels of others");
  if (options.labels && options.spacing.empty())
    throw ConfigError("[pack] --labels says how --spacing resamples; give one, or leave it out");
  if (!options.data_set.given().empty()) {
    throw ConfigError("[pack] " + options.data_set.given() +
                      " is for a data set in nnU-Net's raw layout, got " + options.input.string() +
                      "; leave it out, or name a folder with dataset.json and imagesTr");
  }
}

/// Throws ConfigError for what is decided for a data set as a whole.
void check_for_data_set(const PackVolumesOptions& options) {
  const std::pair<const char*, bool> others[] = {{"--each", options.each},
                                                 {"--dataset", !options.dataset.empty()},
                                                 {"--codec", options.codec != "lz4"},
                                                 {"--level", options.level != 3},
                                                 {"--dtype", !options.dtype.empty()},
                                                 {"--clip", !options.clip.empty()},
                                                 {"--median", options.median},
                                                 {"--labels", options.labels}};
  for (const auto& [name, given] : others) {
    if (given) {
      throw ConfigError("[pack] " + options.input.string() +
                        " is a data set in nnU-Net's raw layout, which is prepared as a whole: " +
                        name + " must be left out; or name its folder imagesTr");
    }
  }
}

ExitCode pack_as_data_set(const PackVolumesOptions& options, std::size_t memory) {
  check_for_data_set(options);
  DataSetPacking packing = options.data_set;
  packing.input = options.input;
  packing.output = options.output;
  if (!options.spacing.empty()) std::copy_n(options.spacing.begin(), 3, packing.spacing.begin());
  std::copy_n(options.chunk.begin(), 3, packing.chunk.begin());
  packing.memory = memory;
  packing.threads = threads_of(options.threads);
  return pack_data_set(packing);
}

/// A file, or what a folder holds, as it is now, and what is made of it.
std::uint64_t mark_of(const fs::path& path, const PackVolumesOptions& options) {
  const std::vector<std::string> files = files_of_volume(path);
  std::string text =
      fmt::format("{} {} {} {} {}", options.dataset, options.median, options.labels,
                  fmt::join(options.spacing, ","),
                  headrace::detail::mark_of_files(
                      files.size(), [&files](std::size_t i) { return fs::path(files[i]); },
                      threads_of(options.threads)));
  for (const std::string& file : files)
    text += "\n" + fs::canonical(file).native();
  return hash_name(text);
}

/// The volume with what was asked for done to it.
std::shared_ptr<const Volume> converted(const fs::path& path, const PackVolumesOptions& options,
                                        std::size_t memory) {
  std::shared_ptr<const Volume> volume = open_volume(path, {.dataset = options.dataset});
  const auto cached = [memory](std::shared_ptr<const Volume> of) {
    return std::make_shared<const CachedVolume>(std::move(of),
                                                std::make_shared<BlockCache>(memory));
  };
  if (options.median) volume = median_of(cached(volume));
  if (!options.spacing.empty()) {
    volume = resampled(cached(volume), {options.spacing[0], options.spacing[1], options.spacing[2]},
                       options.labels ? GridSampling::one_hot : GridSampling::linear);
  }
  return volume;
}

/// Each step's share of what decoded parts may take, the writer's among them.
std::size_t share_of(std::size_t memory, const PackVolumesOptions& options) {
  return memory / (1U + (options.median ? 1U : 0U) + (options.spacing.empty() ? 0U : 1U));
}

ChunkStoreOptions store_options(const PackVolumesOptions& options, std::size_t memory) {
  ChunkStoreOptions store{.chunk = {options.chunk[0], options.chunk[1], options.chunk[2]},
                          .codec = codecs.at(options.codec),
                          .level = options.level,
                          .threads = threads_of(options.threads),
                          .memory = memory};
  if (!options.clip.empty()) store.clip = {options.clip[0], options.clip[1]};
  for (DType dtype : dtypes)
    if (options.dtype == name_of(dtype)) store.dtype = dtype;
  return store;
}

void print_summary(const VolumeWork& work, const Volume& volume, const ChunkStoreProgress& done,
                   double seconds) {
  const VolumeIndex& shape = volume.info().shape;
  const auto decoded =
      static_cast<double>(voxels_of(shape)) * static_cast<double>(size_of(volume.info().dtype));
  fmt::print("{}: {} x {} x {} x {} voxels", work.to.string(), shape[0], shape[1], shape[2],
             shape[3]);
  if (done.resumed > 0)
    fmt::print(", {} of {} chunks from an earlier run", done.resumed, done.all_chunks);
  fmt::print(", {} ({:.0f} % of {}), {}\n", format_bytes(done.bytes),
             100.0 * static_cast<double>(done.bytes) / std::max(decoded, 1.0),
             format_bytes(static_cast<std::uint64_t>(decoded)), format_seconds(seconds));
}

ExitCode pack(const PackVolumesOptions& options) {
  const std::optional<Bytes> memory = parse_bytes(options.memory);
  if (!memory) throw ConfigError("[pack] --memory must be a size as 512MiB, got " + options.memory);
  if (is_nnunet_raw(options.input)) return pack_as_data_set(options, memory->value);
  check(options);
  const std::vector<VolumeWork> work = list_volumes(options.input, options.output, options.each);
  StopSignals signals;
  for (std::size_t i = 0; i < work.size(); ++i) {
    const std::size_t share = share_of(memory->value, options);
    const auto volume = converted(work[i].from, options, share);
    ChunkStoreOptions store = store_options(options, share);
    store.file = work[i].to;
    store.source_mark = mark_of(work[i].from, options);
    store.stop = signals.token();
    std::unique_ptr<Progress> view;
    bool scanning = false;
    store.on_progress = [&](const ChunkStoreProgress& progress) {
      if (!view || progress.scanning != scanning) {
        scanning = progress.scanning;
        view =
            std::make_unique<Progress>(scanning ? "range" : "pack", progress.all_chunks, "chunks");
      }
      const std::string of =
          work.size() == 1 ? "" : fmt::format(", volume {} of {}", i + 1, work.size());
      view->show(progress.chunks, progress.resumed, ", " + format_bytes(progress.bytes) + of);
    };
    const auto begun = std::chrono::steady_clock::now();
    const ChunkStoreProgress done = write_chunk_store(*volume, store);
    if (view) view->end();
    if (!done.finished) {
      fmt::print(stderr,
                 "pack: stopped after {} of {} chunks of {}; the same command goes on there\n",
                 done.chunks, done.all_chunks, work[i].to.string());
      return signals.exit_code();
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begun;
    print_summary(work[i], *volume, done, seconds.count());
  }
  return ExitCode::done;
}

ExitCode run(const PackVolumesOptions& options, const CommandCall&) {
  try {
    return pack(options);
  } catch (const fs::filesystem_error& failure) {
    throw ConfigError(
        std::string("[pack] INPUT must be readable and OUTPUT a place to write to, got: ") +
        failure.what());
  }
}

}  // namespace

// Converts volumes to chunk stores, or goes on where an earlier run was interrupted.
Command pack_volumes_command() {
  return make_command<PackVolumesOptions>(
      "volumes",
      "Convert volumes to files of small chunks; the same command goes on after an "
      "interruption",
      add, run);
}

}  // namespace headrace::inline v1::app
