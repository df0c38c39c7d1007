#include <headrace/apps/feed/debian_package.h>
#include <headrace/apps/jobs/camouflage/cutouts.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/image/image_formats.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view stamps = "tuxpaint-stamps-default";
constexpr std::string_view stamps_sha256 =
    "6db6c1bfc870a47f1499d6203b083522eacb57c5f9c87d468f2e92eb6d9d5f34";
constexpr std::string_view wallpapers = "mate-backgrounds";
constexpr std::string_view wallpapers_sha256 =
    "7bf4c2209f34b4f61ba6d24c8b58c28b361e82e4b943aae6d42c030169af9e04";

struct Known {
  std::string_view name;
  std::string_view why;
};

// Found by looking at all of them.
constexpr std::array drawings{Known{"mammals/hedgehog.png", "a drawing"}};
constexpr std::array with_animals{Known{"LadyBird.jpg", "shows an animal that has no mask"}};

constexpr std::string_view debian_animals =
    "Animals: Debian's tuxpaint-stamps-default 2022.06.04-1, stamps/animals. Licence: GPL-2, "
    "2002-2022 Bill\nKendrick and the contributors of Tux Paint Stamps.\n";
constexpr std::string_view debian_backgrounds =
    "Backgrounds: Debian's mate-backgrounds 1.26.0-1, backgrounds/mate/nature. Licence: GPL-2+. "
    "Authors: Charles\nBarbin (Aqua, Garden, YellowFlower; TwoWings with Hylke Bons), Lennart "
    "Poettering and Andrea Cimitan\n(Blinds), Marco Cogoni and Hylke Bons (Dune), Jens Ansorg "
    "(FreshFlower), Timothy Schellhase and Lapo\nCalamandrei (GreenMeadow), blackcombwhistler07 "
    "(RainDrops), Sergey Nazarov (Storm), Jean-Francois Fortin\nTam (Wood).\n";

bool has_part(const fs::path& path, std::string_view name) {
  return std::ranges::find(path, fs::path(name)) != path.end();
}

/// Sorted, relative to the folder.
std::vector<fs::path> pictures_in(const fs::path& folder, const char* option) {
  std::vector<fs::path> files;
  if (!fs::is_directory(folder))
    throw ConfigError(
        fmt::format("[prepare] {} must name a folder, got {}", option, folder.string()));
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && has_image_extension(entry.path().native()))
      files.push_back(entry.path().lexically_relative(folder));
  std::sort(files.begin(), files.end());
  return files;
}

template <class Why>
void leave_out(std::vector<fs::path>& files, std::vector<std::string>& left_out, Why why) {
  std::erase_if(files, [&](const fs::path& file) {
    const std::string_view reason = why(file);
    if (!reason.empty()) left_out.push_back(fmt::format("{}: {}", file.string(), reason));
    return !reason.empty();
  });
}

template <std::size_t Count>
std::string_view known(const std::array<Known, Count>& all, const fs::path& file) {
  const auto found = std::ranges::find(all, file.string(), &Known::name);
  return found == all.end() ? std::string_view() : found->why;
}

std::string_view drawn(const fs::path& file) {
  if (has_part(file, "cartoon")) return "a drawing";
  if (has_part(file, "toys")) return "a toy";
  return known(drawings, file);
}

/// Of names and contents.
std::string digest_of(const fs::path& folder, const std::vector<fs::path>& files) {
  std::uint64_t sum = 0;
  for (const fs::path& file : files) {
    const std::string text = file.string() + '\n' + read_whole_text(folder / file, "prepare");
    sum = sum * 0x100000001b3ULL + hash_name(text);
  }
  return fmt::format("{:016x}", sum);
}

void find_animals(CamouflageSources& found, const fs::path& folder,
                  const std::function<void(std::string_view)>& say) {
  const bool debian = folder.empty();
  found.animal_folder =
      debian ? debian_package(stamps, stamps_sha256, say) / "usr/share/tuxpaint/stamps/animals"
             : folder;
  found.animals = pictures_in(found.animal_folder, "--animals");
  leave_out(found.animals, found.left_out, [debian](const fs::path& file) -> std::string_view {
    if (file.extension() != ".png") return "no PNG";
    return debian ? drawn(file) : std::string_view();
  });
  found.digest = debian ? std::string(stamps_sha256.substr(0, 16))
                        : digest_of(found.animal_folder, found.animals);
  found.origin = debian ? std::string(debian_animals)
                        : fmt::format("Animals: {}.\n", fs::absolute(folder).string());
}

void find_backgrounds(CamouflageSources& found, const fs::path& folder,
                      const std::function<void(std::string_view)>& say) {
  const bool debian = folder.empty();
  found.background_folder = debian ? debian_package(wallpapers, wallpapers_sha256, say) /
                                         "usr/share/backgrounds/mate/nature"
                                   : folder;
  found.backgrounds = pictures_in(found.background_folder, "--backgrounds");
  if (debian)
    leave_out(found.backgrounds, found.left_out,
              [](const fs::path& file) { return known(with_animals, file); });
  found.digest += ' ';
  found.digest += debian ? std::string(wallpapers_sha256.substr(0, 16))
                         : digest_of(found.background_folder, found.backgrounds);
  found.origin += debian ? std::string(debian_backgrounds)
                         : fmt::format("Backgrounds: {}.\n", fs::absolute(folder).string());
}

}  // namespace

CamouflageSources find_camouflage_sources(const fs::path& animals, const fs::path& backgrounds,
                                          const std::function<void(std::string_view)>& say) {
  CamouflageSources found;
  find_animals(found, animals, say);
  find_backgrounds(found, backgrounds, say);
  return found;
}

}  // namespace headrace::inline v1::app
