#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/image_decoder.h>
#include <headrace/loaders/image/mask_survey.h>
#include <headrace/loaders/internal/in_parallel.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace headrace::inline v1 {
namespace {

using Colour = std::array<std::uint8_t, 3>;

/// Of one file by value, or by colour as 0xRRGGBB.
using Counts = std::unordered_map<std::uint32_t, MaskCount>;

/// The whole picture, as it is shown.
struct Whole {
  explicit Whole(const ImageHeader& header)
      : height(header.shown_height()),
        width(header.shown_width()),
        window{0, 0, double(width), double(height), {.width = width, .height = height}},
        pixels(static_cast<std::size_t>(height) * static_cast<std::size_t>(width)) {}

  int height;
  int width;
  ImageWindow window;
  std::size_t pixels;
};

/// A bit for each channel in which `one` is below `other`.
unsigned below(std::uint32_t one, std::uint32_t other, bool colours) {
  if (!colours) return one < other ? 1 : 0;
  unsigned bits = 0;
  for (const unsigned shift : {0U, 8U, 16U})
    if ((one >> shift & 255U) < (other >> shift & 255U)) bits |= 1U << shift;
  return bits;
}

/// Beyond an edge a pixel stands for its neighbour there.
Counts count(const std::vector<std::uint32_t>& keys, const Whole& whole, bool colours) {
  Counts counts;
  const auto width = static_cast<std::size_t>(whole.width);
  const auto height = static_cast<std::size_t>(whole.height);
  MaskCount* one = nullptr;
  for (std::size_t y = 0; y < height; ++y) {
    const std::uint32_t* const row = &keys[y * width];
    const std::uint32_t* const above = y > 0 ? row - width : row;
    const std::uint32_t* const below_it = y + 1 < height ? row + width : row;
    for (std::size_t x = 0; x < width; ++x) {
      const std::uint32_t key = row[x];
      const std::size_t left = x > 0 ? x - 1 : x;
      const std::size_t right = x + 1 < width ? x + 1 : x;
      const std::array<std::uint32_t, 8> around{above[left], above[x],       above[right],
                                                row[left],   row[right],     below_it[left],
                                                below_it[x], below_it[right]};
      if (x == 0 || key != row[left]) one = &counts[key];
      ++one->pixels;
      if (std::ranges::all_of(around, [key](std::uint32_t other) { return other == key; })) {
        ++one->inner;
        continue;
      }
      unsigned lower = 0;
      unsigned higher = 0;
      for (const std::uint32_t other : around) {
        lower |= below(other, key, colours);
        higher |= below(key, other, colours);
      }
      one->between += (lower & higher) != 0 ? 1 : 0;
    }
  }
  return counts;
}

std::vector<std::uint32_t> colours_of(ImageDecoder& decoder, const Whole& whole) {
  std::vector<std::uint8_t> rgb(whole.pixels * 3);
  decoder.decode(whole.window, {.rgb = rgb.data(), .height = whole.height, .width = whole.width});
  std::vector<std::uint32_t> keys(whole.pixels);
  for (std::size_t i = 0; i < keys.size(); ++i)
    keys[i] = static_cast<std::uint32_t>(rgb[3 * i]) << 16 |
              static_cast<std::uint32_t>(rgb[3 * i + 1]) << 8 | rgb[3 * i + 2];
  return keys;
}

std::vector<std::uint32_t> values_of(ImageDecoder& decoder, const Whole& whole) {
  std::vector<std::uint16_t> labels(whole.pixels);
  decoder.decode_labels(whole.window, {.labels = labels.data(),
                                       .dtype = DType::uint16,
                                       .height = whole.height,
                                       .width = whole.width});
  return {labels.begin(), labels.end()};
}

/// Adds a file's counts; of what is not counted yet as many as there is room for, least first.
template <class Key, class ToKey>
void add(MaskSurvey& survey, std::map<Key, MaskCount>& all, const Counts& counts, std::size_t most,
         const ToKey& to_key) {
  std::vector<std::pair<std::uint32_t, MaskCount>> sorted(counts.begin(), counts.end());
  std::ranges::sort(sorted, {}, [](const auto& one) { return one.first; });
  for (auto& [number, found] : sorted) {
    const Key key = to_key(number);
    if (!all.contains(key) && all.size() >= most) {
      survey.complete = false;
      continue;
    }
    found.files = 1;
    all[key] += found;
  }
}

Colour to_colour(std::uint32_t number) {
  return {static_cast<std::uint8_t>(number >> 16), static_cast<std::uint8_t>(number >> 8),
          static_cast<std::uint8_t>(number)};
}

bool is_grey(const std::pair<const Colour, MaskCount>& entry) {
  const auto& [red, green, blue] = entry.first;
  return red == green && red == blue;
}

/// Colours that are grey in all files are values.
void settle(MaskSurvey& survey) {
  if (!std::all_of(survey.colours.begin(), survey.colours.end(), is_grey)) return;
  for (const auto& [colour, count] : survey.colours)
    survey.values[colour[0]] += count;
  survey.colours.clear();
}

void look_at(const ImageSource& source, std::int64_t index, std::size_t most, std::mutex& mutex,
             MaskSurvey& survey) {
  try {
    Sample sample;
    source.read(index, sample);
    const Tensor file = sample["mask"];
    ImageDecoder& decoder = ImageDecoder::this_thread();
    const Whole whole(decoder.open(file.as_bytes()));
    const bool colours = decoder.keeps_colours();
    const Counts counts =
        count(colours ? colours_of(decoder, whole) : values_of(decoder, whole), whole, colours);
    const std::lock_guard lock(mutex);
    ++survey.files;
    if (colours)
      add(survey, survey.colours, counts, most, to_colour);
    else
      add(survey, survey.values, counts, most,
          [](std::uint32_t value) { return static_cast<std::uint16_t>(value); });
  } catch (const DataError& error) {
    const std::lock_guard lock(mutex);
    survey.bad.push_back({index, error.what()});
  }
}

}  // namespace

MaskCount& MaskCount::operator+=(const MaskCount& more) {
  files += more.files;
  pixels += more.pixels;
  inner += more.inner;
  between += more.between;
  return *this;
}

MaskSurvey survey_masks(const ImageSource& source, const MaskSurveyOptions& options) {
  if (!source.has_masks())
    throw ConfigError("[mask survey] " + source.name() + ": must have masks, got none");
  MaskSurvey survey;
  const std::int64_t all = source.size();
  const std::int64_t count = options.samples > 0 ? std::min(options.samples, all) : all;
  std::mutex mutex;
  const auto make = [&] {
    return [&](std::size_t place) {
      look_at(source, static_cast<std::int64_t>(place) * all / count, options.most_values, mutex,
              survey);
    };
  };
  detail::in_parallel(static_cast<std::size_t>(count),
                      static_cast<std::size_t>(std::max(1, options.threads)), make);
  std::ranges::sort(survey.bad, {}, &MaskSurvey::Bad::index);
  settle(survey);
  return survey;
}

}  // namespace headrace::inline v1
