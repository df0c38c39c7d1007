#pragma once

#include <headrace/engine/tensor/tensor.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::app {

/// Folders of the classes: five of Fashion-MNIST that are easily confused. Sorted, they are in the
/// order of the classes.
inline constexpr std::array<std::string_view, 5> garment_folders{"0_tshirt", "1_pullover",
                                                                 "2_dress", "3_coat", "4_shirt"};

/// How many training pictures each class has: the first `largest`, the others in the ratio of
/// EyePACS's five grades (25810 : 2443 : 5292 : 873 : 708), rounded to the nearest, at least 1.
std::array<std::int64_t, garment_folders.size()> garment_counts(std::int64_t largest);

/// A picture of Fashion-MNIST and the file that it becomes.
struct Garment {
  std::string file;            ///< "train/0_tshirt/00017.jpg", with its row in the IDX file
  const std::uint8_t* pixels;  ///< uint8 [28, 28], of the images that it was chosen from
};

/// Pictures of a class for one part of the data.
struct GarmentPart {
  std::string_view folder{};  ///< "train"
  std::int64_t first = 0;     ///< of the class's pictures in file order
  std::int64_t count = 0;
};

/// A part of class `number` out of images [N, 28, 28] with these labels [N]. Throws DataError where
/// there are too few.
std::vector<Garment> garments_of(const Tensor& images, const Tensor& labels, std::size_t number,
                                 const GarmentPart& part);

}  // namespace headrace::inline v1::app
