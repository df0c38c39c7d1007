#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Parts of a data set of camouflaged pictures: training, validation, test.
inline constexpr std::size_t camouflage_parts = 3;

/// What a source is divided by.
struct SourceToSplit {
  std::string kind{};           ///< what has the same stays together
  std::size_t super_class = 0;  ///< each part has some of every one that has three kinds or more
};

/// The part of each source: of every super-class about an eighth of the kinds to validation, an
/// eighth to test, and at least one each where there are three; drawn by the seed, not by name.
std::vector<std::size_t> split_animals(const std::vector<SourceToSplit>& animals,
                                       std::uint64_t seed);

/// The same for so many backgrounds: a twelfth to validation, two twelfths to test. At least three.
std::vector<std::size_t> split_backgrounds(std::size_t count, std::uint64_t seed);

}  // namespace headrace::inline v1::app
