#include <headrace/apps/jobs/retinopathy/garments.h>
#include <headrace/engine/base/error.h>

#include <algorithm>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

constexpr std::int64_t garment_pixels = std::int64_t{28} * 28;
// T-shirt, pullover, dress, coat, shirt.
constexpr std::array<std::uint8_t, garment_folders.size()> labels_of_classes{0, 2, 3, 4, 6};
constexpr std::array<std::int64_t, garment_folders.size()> eyepacs{25810, 2443, 5292, 873, 708};

}  // namespace

std::array<std::int64_t, garment_folders.size()> garment_counts(std::int64_t largest) {
  std::array<std::int64_t, garment_folders.size()> counts{};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::int64_t nearest = (2 * largest * eyepacs[i] + eyepacs[0]) / (2 * eyepacs[0]);
    counts[i] = std::max<std::int64_t>(1, nearest);
  }
  return counts;
}

std::vector<Garment> garments_of(const Tensor& images, const Tensor& labels, std::size_t number,
                                 const GarmentPart& part) {
  std::vector<Garment> garments;
  const auto of_rows = labels.values<std::uint8_t>();
  std::int64_t seen = 0;
  for (std::size_t row = 0; row < of_rows.size(); ++row) {
    if (of_rows[row] != labels_of_classes[number]) continue;
    const std::int64_t place = seen++ - part.first;
    if (place < 0 || place >= part.count) continue;
    garments.push_back(
        {.file = fmt::format("{}/{}/{:05}.jpg", part.folder, garment_folders[number], row),
         .pixels = images.data<std::uint8_t>() + static_cast<std::int64_t>(row) * garment_pixels});
  }
  if (static_cast<std::int64_t>(garments.size()) == part.count) return garments;
  throw DataError(
      fmt::format("[prepare] Fashion-MNIST must have {} pictures of class {} for {}, got {} in all",
                  part.first + part.count, garment_folders[number], part.folder, seen));
}

}  // namespace headrace::inline v1::app
