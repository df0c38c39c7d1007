#include <headrace/apps/jobs/surface/prepare.h>
#include <headrace/apps/jobs/surface/surface_volumes.h>
#include <headrace/apps/run/command.h>
#include <headrace/apps/run/make_folder.h>
#include <headrace/apps/terminal/progress.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/volume/volume_writer.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

struct PrepareOptions {
  fs::path output = "surface";
  fs::path templates{};  // Empty: Debian's package.
  std::uint64_t seed = 42;
  double ignored = 0.2;
};

void add(CLI::App& line, PrepareOptions& options) {
  line.add_option("OUTPUT", options.output, "Folder of the data set, in nnU-Net's raw layout")
      ->capture_default_str();
  line.add_option(
      "--templates", options.templates,
      "Folder with ch2, ch2bet, inia19-t1-brain and inia19-NeuroMaps (.nii.gz); without "
      "it Debian's mricron-data (16 MB)");
  line.add_option("--seed", options.seed, "Of the blocks that count nowhere")
      ->capture_default_str();
  line.add_option("--ignored", options.ignored, "Their share of the training cases")
      ->check(number_range(0.0, 0.9))
      ->capture_default_str();
}

std::string dataset_json(std::size_t cases) {
  return fmt::format(R"({{
 "channel_names": {{"0": "MRI"}},
 "labels": {{"background": 0, "surface": 1, "ignore": 2}},
 "numTraining": {},
 "file_ending": ".nii.gz"
}}
)",
                     cases);
}

/// A box of the head that a data set of its own has: the halves on both sides of the plane in the
/// middle, of which one is to train on but for a slab of it.
struct HalfCase {
  const char* data_set;
  const char* name;
  double begin_z, end_z;  // shares of the height
  bool left;              // the low end of x
  bool ignores;           // blocks of its labels
};
constexpr std::array half_cases{
    HalfCase{"train", "half_lower", 0.0, 0.4, true, true},
    HalfCase{"train", "half_upper", 0.6, 1.0, true, true},
    HalfCase{"validation", "half_middle", 0.4, 0.6, true, false},
    HalfCase{"test", "other_half", 0.0, 1.0, false, false},
};
constexpr std::array half_sets{"train", "validation", "test"};
constexpr std::array parts{"inferior_posterior", "inferior_anterior", "superior_posterior",
                           "superior_anterior"};
constexpr std::array folders{"imagesTr", "labelsTr", "imagesTs", "labelsTs"};
constexpr std::string_view record = "recipe.txt";
constexpr std::string_view record_begins = "surface 2: ";

void say(std::string_view line) {
  fmt::print(stderr, "prepare surface: {}\n", line);
}

class PrepareSurface {
 public:
  explicit PrepareSurface(const PrepareOptions& options)
      : options_(options),
        sources_(options.templates.empty() ? debian_surface(say)
                                           : folder_surface(options.templates)) {}

  ExitCode run() {
    if (complete()) {
      say(fmt::format("{} holds the data set already, made by the same recipe; kept",
                      options_.output.string()));
      return ExitCode::done;
    }
    begin();
    constexpr auto cases = static_cast<std::int64_t>(parts.size() + half_cases.size()) + 1;
    Progress progress("prepare surface", cases, "cases");
    write_head(progress);
    write_other();
    progress.show(cases);
    progress.end();
    write_text("README.txt", readme());
    if (!sources_.licence.empty())
      write_text("copyright.txt", read_whole_text(sources_.licence, "prepare"));
    for (const char* set : half_sets)
      write_text(fmt::format("halves/{}/dataset.json", set), dataset_json(cases_of(set)));
    write_text("dataset.json", dataset_json(parts.size()));
    write_text(record, record_text());
    say(fmt::format("{}: {} training cases, 1 to test, and the halves of the head apart, in {}",
                    options_.output.string(), parts.size(),
                    monitor::format_seconds(progress.seconds())));
    return ExitCode::done;
  }

 private:
  static std::size_t cases_of(std::string_view set) {
    return static_cast<std::size_t>(std::ranges::count(half_cases, set, &HalfCase::data_set));
  }

  static std::vector<std::string> names() {
    std::vector<std::string> names;
    for (const char* part : parts) {
      names.push_back(fmt::format("imagesTr/ch2_{}_0000.nii.gz", part));
      names.push_back(fmt::format("labelsTr/ch2_{}.nii.gz", part));
    }
    names.insert(names.end(),
                 {"imagesTs/inia19_0000.nii.gz", "labelsTs/inia19.nii.gz", "dataset.json"});
    for (const HalfCase& one : half_cases) {
      names.push_back(fmt::format("halves/{}/imagesTr/{}_0000.nii.gz", one.data_set, one.name));
      names.push_back(fmt::format("halves/{}/labelsTr/{}.nii.gz", one.data_set, one.name));
    }
    for (const char* set : half_sets)
      names.push_back(fmt::format("halves/{}/dataset.json", set));
    return names;
  }

  /// The recipe, and each file with its bytes and a checksum of them.
  std::string record_text() const {
    std::string text = fmt::format("{}{}, seed {}, ignored {}\n", record_begins, sources_.digest,
                                   options_.seed, options_.ignored);
    for (const std::string& name : names()) {
      const std::string content = read_whole_text(options_.output / name, "prepare");
      text += fmt::format("{} {} {:016x}\n", name, content.size(), hash_name(content));
    }
    return text;
  }

  bool complete() const {
    return read_whole_text(options_.output / record, "prepare") == record_text();
  }

  /// Until the end the folder has no dataset.json, so that nobody takes it for a data set.
  void begin() const {
    std::error_code none;
    const std::string before = read_whole_text(options_.output / record, "prepare");
    if (fs::exists(options_.output, none) && !fs::is_empty(options_.output, none) &&
        !before.starts_with("surface ")) {
      throw ConfigError(
          fmt::format("[prepare] {} must be empty, or made by prepare surface, got "
                      "a folder with other files; name another one",
                      options_.output.string()));
    }
    make_folder("prepare", options_.output);
    write_text(record, fmt::format("{}not finished\n", record_begins));
    fs::remove(options_.output / "dataset.json", none);
    for (const char* set : half_sets)
      fs::remove(options_.output / "halves" / set / "dataset.json", none);
    for (const char* folder : folders)
      make_folder("prepare", options_.output / folder);
    for (const char* set : half_sets)
      for (const char* folder : {"imagesTr", "labelsTr"})
        make_folder("prepare", options_.output / "halves" / set / folder);
  }

  void write_text(std::string_view name, const std::string& text) const {
    write_file_atomically(options_.output / name, text, {.who = "prepare"});
  }

  void write(const std::string& name, const WholeVolume& volume) const {
    write_nifti(options_.output / name, volume.info, volume.voxels);
  }

  /// One subject, cut in halves along z and y. Four boxes of 72 x 136 x 136 voxels do not fit into
  /// 181 x 217 x 181 without overlap, whichever way they lie; these have more of such a patch (all
  /// of it along z and x, 108 of 136 along y) than halves along x would have.
  void write_head(Progress& progress) const {
    const WholeVolume head = read_whole(sources_.head);
    const WholeVolume brain = read_whole(sources_.brain);
    if (head.info.shape != brain.info.shape) {
      throw DataError(
          "[prepare] ch2 and ch2bet must have the same shape; are they of one package?");
    }
    SurfaceVoxels labels = grown(inner_boundary(brain.mask()));
    const WholeVolume whole_label = head.labelled(labels);
    ignore_blocks(labels, {.label = 2, .share = options_.ignored, .seed = options_.seed});
    const WholeVolume label = head.labelled(std::move(labels));
    const VolumeIndex& shape = head.info.shape;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const bool upper = i >= 2;
      const bool front = i % 2 == 1;
      const std::array begin{upper ? shape[1] / 2 : 0, front ? shape[2] / 2 : 0, std::int64_t{0}};
      const std::array end{upper ? shape[1] : shape[1] / 2, front ? shape[2] : shape[2] / 2,
                           shape[3]};
      write(fmt::format("imagesTr/ch2_{}_0000.nii.gz", parts[i]), head.part(begin, end));
      write(fmt::format("labelsTr/ch2_{}.nii.gz", parts[i]), label.part(begin, end));
      progress.show(static_cast<std::int64_t>(i) + 1);
    }
    for (std::size_t i = 0; i < half_cases.size(); ++i) {
      write_half(half_cases[i], head, half_cases[i].ignores ? label : whole_label);
      progress.show(static_cast<std::int64_t>(parts.size() + i) + 1);
    }
  }

  void write_half(const HalfCase& half, const WholeVolume& head, const WholeVolume& label) const {
    const VolumeIndex& shape = head.info.shape;
    const auto slice = [&](double share) {
      return std::llround(share * static_cast<double>(shape[1]));
    };
    // Of an odd number of columns the middle one is in neither half.
    const std::int64_t begin_x = half.left ? 0 : (shape[3] + 1) / 2;
    const std::array begin{std::int64_t{slice(half.begin_z)}, std::int64_t{0}, begin_x};
    const std::array end{std::int64_t{slice(half.end_z)}, shape[2],
                         half.left ? shape[3] / 2 : shape[3]};
    const std::string folder = fmt::format("halves/{}/", half.data_set);
    write(fmt::format("{}imagesTr/{}_0000.nii.gz", folder, half.name), head.part(begin, end));
    write(fmt::format("{}labelsTr/{}.nii.gz", folder, half.name), label.part(begin, end));
  }

  /// Another animal, to judge by: nothing of it is ignored.
  void write_other() const {
    const WholeVolume image = read_whole(sources_.other);
    const WholeVolume regions = read_whole(sources_.other_parts);
    if (image.info.shape != regions.info.shape) {
      throw DataError(
          "[prepare] inia19-t1-brain and inia19-NeuroMaps must have the same shape; are they of "
          "one package?");
    }
    write("imagesTs/inia19_0000.nii.gz", image);
    write("labelsTs/inia19.nii.gz", image.labelled(grown(inner_boundary(regions.mask()))));
  }

  std::string readme() const {
    return fmt::format(
        "The surface of the brain in real volumes, made by `headrace prepare surface`.\n"
        "Origin: {}: the templates ch2, ch2bet, inia19-t1-brain and inia19-NeuroMaps of MRIcron.\n"
        "Licence: {}; it and what the templates' authors ask for hold for these volumes, too.\n"
        "\n"
        "imagesTr, labelsTr: four parts of one human head (they share no voxel, but a subject).\n"
        "imagesTs, labelsTs: the brain of a macaque.\n"
        "halves: the same head, divided by the plane in the middle into data sets of their own: "
        "train\n(two parts of one half), validation (the slab between them), test (the other half, "
        "all of which\ncounts). A brain is nearly symmetric: whoever mirrors the labels of the one "
        "half has most of the\nother's, so this test says that a network has learnt what a surface "
        "looks like, not that it knows\nother heads; the macaque says that.\n"
        "Labels: 1 within one voxel of the brain's outermost voxels; 2 counts nowhere.\n",
        sources_.origin,
        sources_.licence.empty() ? "as the files' origin says"
                                 : "BSD-3-Clause, Chris Rorden (copyright.txt)");
  }

  const PrepareOptions& options_;
  SurfaceSources sources_;
};

ExitCode run(const PrepareOptions& options, const CommandCall&) {
  return PrepareSurface(options).run();
}

}  // namespace

Command prepare_surface_command() {
  return make_command("surface",
                      "The surface of a brain in real volumes from Debian's mricron-data, as "
                      "nnU-Net's raw layout",
                      add, run);
}

}  // namespace headrace::inline v1::app
