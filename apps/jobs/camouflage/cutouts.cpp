#include <headrace/apps/jobs/camouflage/cutouts.h>
#include <headrace/apps/run/parallel_for.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/loaders/image/png_reader.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

constexpr int smallest_side = 100;
constexpr int visible = 128;  // Of an alpha of 255.
constexpr std::uint64_t most_bytes = std::uint64_t{256} << 20;

struct KnownFolder {
  std::string_view name;
  std::size_t super_class;
};
constexpr std::array<KnownFolder, 9> known_folders{{{"amphibians", 3},
                                                    {"aquatic", 0},
                                                    {"birds", 2},
                                                    {"fish", 0},
                                                    {"insects", 2},
                                                    {"lizards", 1},
                                                    {"mammals", 1},
                                                    {"marsupials", 1},
                                                    {"shellfish", 0}}};

/// By the innermost folder that says something.
std::size_t super_class_of(const fs::path& file) {
  std::size_t super_class = cod_super_classes.size() - 1;
  for (const fs::path& part : file) {
    const auto found = std::ranges::find(known_folders, part.string(), &KnownFolder::name);
    if (found != known_folders.end()) super_class = found->super_class;
  }
  return super_class;
}

/// "tiger_sumatran" as "TigerSumatran": a word of COD10K's names has letters and figures only.
std::string class_name(const std::string& stem) {
  std::string name;
  bool begins = true;
  for (const unsigned char letter : stem) {
    if (std::isalnum(letter) == 0) {
      begins = true;
      continue;
    }
    name += static_cast<char>(begins ? std::toupper(letter) : letter);
    begins = false;
  }
  return name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0 ? "Animal" + name
                                                                                : name;
}

// The first word; a name without letters is one of its own.
std::string kind_of(const std::string& stem) {
  std::string kind;
  for (const unsigned char letter : stem) {
    if (std::isalpha(letter) != 0)
      kind += static_cast<char>(std::tolower(letter));
    else if (!kind.empty())
      break;
  }
  return kind.empty() ? stem : kind;
}

/// Without the rows and columns around it that are all but transparent; nothing is left of an empty
/// picture.
RgbaPicture trimmed(const RgbaPicture& picture) {
  int left = picture.width;
  int top = picture.height;
  int right = 0;
  int bottom = 0;
  const auto place = [&picture](int x, int y) {
    return 4 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(picture.width) +
                static_cast<std::size_t>(x));
  };
  for (int y = 0; y < picture.height; ++y) {
    for (int x = 0; x < picture.width; ++x) {
      if (picture.rgba[place(x, y) + 3] < visible) continue;
      left = std::min(left, x);
      right = std::max(right, x + 1);
      top = std::min(top, y);
      bottom = std::max(bottom, y + 1);
    }
  }
  RgbaPicture part{.width = std::max(0, right - left), .height = std::max(0, bottom - top)};
  for (int y = top; y < bottom; ++y)
    part.rgba.insert(part.rgba.end(),
                     picture.rgba.begin() + static_cast<std::ptrdiff_t>(place(left, y)),
                     picture.rgba.begin() + static_cast<std::ptrdiff_t>(place(right, y)));
  return part;
}

double visible_share(const RgbaPicture& picture) {
  std::size_t count = 0;
  for (std::size_t i = 3; i < picture.rgba.size(); i += 4)
    count += picture.rgba[i] >= visible ? 1 : 0;
  return static_cast<double>(count) / static_cast<double>(picture.rgba.size() / 4);
}

/// Why it is none to be hidden; empty: it is.
std::string unfit(const RgbaPicture& picture) {
  if (std::max(picture.width, picture.height) < smallest_side)
    return fmt::format("smaller than {} pixels", smallest_side);
  const double share = visible_share(picture);
  if (share > 0.98) return "no cut-out, opaque all over";
  if (share < 0.05) return "all but empty";
  return {};
}

struct ReadAnimal {
  RgbaPicture picture{};
  std::string unfit{};
};

ReadAnimal read_animal(const fs::path& file) {
  const std::vector<std::byte> bytes = read_whole_file(file, "prepare", most_bytes);
  // The colour type; 6 has red, green, blue and alpha. The decoder says what is no PNG.
  if (bytes.size() > 25 && bytes[25] != std::byte{6}) return {.unfit = "no alpha, or no colours"};
  try {
    ReadAnimal read{.picture = trimmed(decode_rgba_png(bytes))};
    read.unfit = unfit(read.picture);
    return read;
  } catch (const DataError& error) {
    throw DataError(fmt::format("[prepare] {}: {}; repair it, or put it elsewhere", file.string(),
                                error.what()));
  }
}

/// Opaque.
RgbaPicture read_photograph(const fs::path& file) {
  const std::vector<std::byte> bytes = read_whole_file(file, "prepare", most_bytes);
  try {
    ImageDecoder& decoder = ImageDecoder::this_thread();
    const ImageHeader header = decoder.open(bytes);
    RgbaPicture picture{.width = header.shown_width(), .height = header.shown_height()};
    const auto pixels =
        static_cast<std::size_t>(picture.width) * static_cast<std::size_t>(picture.height);
    std::vector<std::uint8_t> rgb(3 * pixels);
    decoder.decode({.width = static_cast<double>(picture.width),
                    .height = static_cast<double>(picture.height),
                    .bounds = {.width = picture.width, .height = picture.height}},
                   {.rgb = rgb.data(), .height = picture.height, .width = picture.width});
    picture.rgba.reserve(4 * pixels);
    for (std::size_t i = 0; i < rgb.size(); i += 3)
      picture.rgba.insert(picture.rgba.end(), {rgb[i], rgb[i + 1], rgb[i + 2], 255});
    return picture;
  } catch (const DataError& error) {
    throw DataError(fmt::format("[prepare] {}: {}; repair it, or put it elsewhere", file.string(),
                                error.what()));
  }
}

/// In the order of the files, whichever thread read them.
template <class Value, class Read>
std::vector<Value> read_all(std::size_t count, int threads, Read read) {
  std::vector<std::optional<Value>> read_ones(count);
  parallel_for(count, threads, [&](std::size_t i) { read_ones[i].emplace(read(i)); });
  std::vector<Value> values;
  for (std::optional<Value>& one : read_ones)
    values.push_back(std::move(*one));
  return values;
}

}  // namespace

std::vector<CutOut> read_cut_outs(CamouflageSources& sources, int threads) {
  std::vector<ReadAnimal> read = read_all<ReadAnimal>(
      sources.animals.size(), threads,
      [&](std::size_t i) { return read_animal(sources.animal_folder / sources.animals[i]); });
  std::vector<CutOut> cut_outs;
  for (std::size_t i = 0; i < read.size(); ++i) {
    const fs::path& file = sources.animals[i];
    if (!read[i].unfit.empty()) {
      sources.left_out.push_back(fmt::format("{}: {}", file.string(), read[i].unfit));
      continue;
    }
    const std::string stem = file.stem().string();
    cut_outs.push_back({.file = file,
                        .name = class_name(stem),
                        .kind = kind_of(stem),
                        .super_class = super_class_of(file),
                        .number = static_cast<std::int64_t>(cut_outs.size()) + 1,
                        .picture = PictureLevels(std::move(read[i].picture))});
  }
  return cut_outs;
}

std::vector<Background> read_backgrounds(const CamouflageSources& sources, int side, int threads) {
  return read_all<Background>(sources.backgrounds.size(), threads, [&](std::size_t i) {
    const fs::path& file = sources.backgrounds[i];
    Background background{
        .file = file, .picture = PictureLevels(read_photograph(sources.background_folder / file))};
    const auto shorter = [&] {
      return std::min(background.picture.width(), background.picture.height());
    };
    if (shorter() < side)
      throw ConfigError(fmt::format(
          "[prepare] {} must be at least as high and wide as --side {}, got {} x {}; put it "
          "elsewhere, or "
          "give a smaller --side",
          file.string(), side, background.picture.width(), background.picture.height()));
    while (shorter() > 8 * side)
      background.picture.drop_levels(1);
    return background;
  });
}

}  // namespace headrace::inline v1::app
