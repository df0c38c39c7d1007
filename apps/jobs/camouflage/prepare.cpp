#include <headrace/apps/jobs/camouflage/composite.h>
#include <headrace/apps/jobs/camouflage/cutouts.h>
#include <headrace/apps/jobs/camouflage/prepare.h>
#include <headrace/apps/jobs/camouflage/split_sources.h>
#include <headrace/apps/run/make_folder.h>
#include <headrace/apps/run/parallel_for.h>
#include <headrace/apps/run/prepared_folder.h>
#include <headrace/apps/terminal/progress.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/image/jpeg_writer.h>
#include <headrace/loaders/image/png_writer.h>
#include <headrace/monitor/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, camouflage_parts> part_names{"Train", "Val", "Test"};
constexpr std::uint32_t most_draws = 32;
constexpr double smallest_mask = 0.002;  // Of the picture.

void add_counts(CLI::App& line, CamouflageOptions& options) {
  const CLI::Range counts(1, 1'000'000);
  line.add_option("--train", options.train, "Pictures to train on")
      ->check(counts)
      ->capture_default_str();
  line.add_option("--validation", options.validation, "Pictures that select weights")
      ->check(counts)
      ->capture_default_str();
  line.add_option("--test", options.test, "Pictures to report on")
      ->check(counts)
      ->capture_default_str();
}

void add(CLI::App& line, CamouflageOptions& options) {
  line.add_option("--output", options.output, "Folder to write, with Train, Val and Test")
      ->required();
  line.add_option("--side", options.side, "Height and width of a picture, in pixels")
      ->check(CLI::Range(32, 1024))
      ->capture_default_str();
  add_counts(line, options);
  line.add_option("--seed", options.seed, "Of the split and of every picture")
      ->capture_default_str();
  line.add_option("--quality", options.quality, "Of the JPEG files")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  line.add_option("--animals", options.animals,
                  "Folder of cut-out animals, PNG with alpha, below folders such as birds or fish; "
                  "without it Debian's tuxpaint-stamps-default (161 MB)");
  line.add_option("--backgrounds", options.backgrounds,
                  "Folder of photographs without animals; without it Debian's mate-backgrounds "
                  "(47 MB)");
  add_threads(line, options.threads);
}

void say(std::string_view line) {
  fmt::print(stderr, "prepare camouflage: {}\n", line);
}

/// Indices of what a part is made from.
struct PartSources {
  std::vector<std::size_t> animals{};
  std::vector<std::size_t> backgrounds{};
};

class PrepareCamouflage {
 public:
  explicit PrepareCamouflage(const CamouflageOptions& options)
      : options_(options),
        sources_(find_camouflage_sources(options.animals, options.backgrounds, say)) {}

  ExitCode run() {
    const PreparedFolder folder({.name = "camouflage",
                                 .output = options_.output,
                                 .parts = {part_names.begin(), part_names.end()},
                                 .recipe = recipe()});
    const bool made = folder.make([this](const fs::path& root) { return fill(root); });
    say(made ? made_
             : fmt::format("{} holds the pictures already, made by the same recipe; kept",
                           options_.output.string()));
    return ExitCode::done;
  }

 private:
  std::array<std::int64_t, camouflage_parts> counts() const {
    return {options_.train, options_.validation, options_.test};
  }

  std::string recipe() const {
    return fmt::format("sources {}, side {}, quality {}, train {}, validation {}, test {}, seed {}",
                       sources_.digest, options_.side, options_.quality, options_.train,
                       options_.validation, options_.test, options_.seed);
  }

  std::string fill(const fs::path& root) {
    const int threads = threads_of(options_.threads);
    animals_ = read_cut_outs(sources_, threads);
    backgrounds_ = read_backgrounds(sources_, options_.side, threads);
    divide();
    for (const char* part : part_names)
      for (const char* folder : {"Imgs", "GT_Object"})
        make_folder("prepare", root / part / folder);
    write(root, threads);
    return readme();
  }

  void divide() {
    std::vector<SourceToSplit> kinds;
    for (const CutOut& animal : animals_)
      kinds.push_back({.kind = animal.kind, .super_class = animal.super_class});
    const std::vector<std::size_t> animal_parts = split_animals(kinds, options_.seed);
    for (std::size_t i = 0; i < animal_parts.size(); ++i)
      parts_[animal_parts[i]].animals.push_back(i);
    const std::vector<std::size_t> background_parts =
        split_backgrounds(backgrounds_.size(), options_.seed);
    for (std::size_t i = 0; i < background_parts.size(); ++i)
      parts_[background_parts[i]].backgrounds.push_back(i);
    for (const PartSources& part : parts_) {
      if (part.animals.empty() || part.backgrounds.empty())
        throw ConfigError(fmt::format(
            "[prepare] animals of three kinds and three backgrounds must be there, so that no part "
            "shares one with another, got {} animals and {} backgrounds; add files to --animals or "
            "--backgrounds",
            animals_.size(), backgrounds_.size()));
    }
  }

  void write(const fs::path& root, int threads) {
    const auto all = counts();
    const std::int64_t sum = all[0] + all[1] + all[2];
    Progress progress("prepare camouflage", sum, "pictures");
    std::atomic<std::int64_t> done{0};
    parallel_for(static_cast<std::size_t>(sum), threads, [&](std::size_t i) {
      auto number = static_cast<std::int64_t>(i);
      std::size_t part = 0;
      for (; number >= all[part]; ++part)
        number -= all[part];
      write_one(root / part_names[part], part, number, static_cast<std::int64_t>(i) + 1);
      progress.show(++done);
    });
    progress.end();
    made_ = fmt::format(
        "{}: {} pictures of {} x {} from {} animals and {} backgrounds ({} files left out: "
        "README.txt) in {}",
        options_.output.string(), sum, options_.side, options_.side, animals_.size(),
        backgrounds_.size(), sources_.left_out.size(), monitor::format_seconds(progress.seconds()));
  }

  /// `number` within the part; `name` within all of them.
  void write_one(const fs::path& folder, std::size_t part, std::int64_t number,
                 std::int64_t name) const {
    std::size_t which = 0;
    Composite made;
    for (std::uint32_t draw = 0; draw < most_draws; ++draw) {
      Random random({.seed = options_.seed,
                     .loader = hash_name("camouflage"),
                     .position = number,
                     .operation = static_cast<std::uint32_t>(part),
                     .attempt = draw});
      const auto one_of = [&random](const std::vector<std::size_t>& of) {
        return of[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(of.size())))];
      };
      which = one_of(parts_[part].animals);
      const PictureLevels& background = backgrounds_[one_of(parts_[part].backgrounds)].picture;
      const PictureLevels& animal = animals_[which].picture;
      made = compose(background, animal, draw_composite(background, animal, options_.side, random));
      if (std::ranges::count(made.mask, 255) >=
          smallest_mask * static_cast<double>(made.mask.size()))
        break;
    }
    const CutOut& animal = animals_[which];
    const std::string stem =
        fmt::format("COD10K-CAM-{}-{}-{}-{}-{}", animal.super_class + 1,
                    cod_super_classes[animal.super_class], animal.number, animal.name, name);
    write_prepared_file(
        folder / "Imgs" / (stem + ".jpg"),
        encode_jpeg(made.rgb.data(), options_.side, options_.side, options_.quality));
    write_prepared_file(folder / "GT_Object" / (stem + ".png"),
                        encode_grey_png(made.mask.data(), options_.side, options_.side));
  }

  std::string readme() const {
    std::string text =
        "Animals hidden in photographs, in COD10K's layout and names. Made by `headrace prepare "
        "camouflage`; COD10K\nitself has none of these pictures. No animal and no background is in "
        "two parts. The number of a sub-class\nstands for one cut-out. The licences of the sources "
        "hold for these files, too.\n\n" +
        sources_.origin;
    for (std::size_t part = 0; part < camouflage_parts; ++part) {
      text += fmt::format("\n{}: {} pictures\n  backgrounds, {}:", part_names[part], counts()[part],
                          parts_[part].backgrounds.size());
      for (const std::size_t i : parts_[part].backgrounds)
        text += ' ' + backgrounds_[i].file.string();
      text += fmt::format("\n  animals, {}:", parts_[part].animals.size());
      for (const std::size_t i : parts_[part].animals)
        text += ' ' + animals_[i].file.string();
      text += '\n';
    }
    text += "\nLeft out:\n";
    for (const std::string& line : sources_.left_out)
      text += "  " + line + '\n';
    return text;
  }

  const CamouflageOptions& options_;
  CamouflageSources sources_;
  std::vector<CutOut> animals_{};
  std::vector<Background> backgrounds_{};
  std::array<PartSources, camouflage_parts> parts_{};
  std::string made_{};  ///< what is said of it at the end
};

ExitCode run(const CamouflageOptions& options, const CommandCall&) {
  return prepare_camouflage(options);
}

}  // namespace

ExitCode prepare_camouflage(const CamouflageOptions& options) {
  return PrepareCamouflage(options).run();
}

Command prepare_camouflage_command() {
  return make_command("camouflage",
                      "Animals hidden in photographs, from Debian's stamps and wallpapers, as "
                      "COD10K is laid out",
                      add, run);
}

}  // namespace headrace::inline v1::app
