#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {

/// Records whose files are compared, by number from 0. Functions are called by any thread.
struct CopySearch {
  std::size_t records = 0;
  std::function<std::uint64_t(std::size_t)> bytes{};  ///< of all its files; 0: is not compared
  std::function<std::vector<std::string>(std::size_t)> files{};  ///< whole paths, in order
  std::filesystem::path kept{};                                  ///< KeptSums of these records
  double most_seconds = 0.0;                                     ///< 0: as long as it takes
  std::function<void(double)> on_long{};  ///< told the seconds of a forecast above 10
  std::stop_token stop{};
  std::function<double()> clock{};  ///< seconds; empty: the machine's
};

/// What was found; nothing where it was not looked for, or a stop was asked for.
struct FoundCopies {
  std::vector<std::vector<std::size_t>> sets{};  ///< each ascends, by their first records
  std::size_t compared = 0;                      ///< records of a size that others have
  double forecast_s = 0.0;  ///< above 0: looking would take so long, and was left
};

/// Sets of records whose files have the same bytes, by whatever path. Only records of one size are
/// opened; content_sample() tells most apart, and content_sum() those that agree in it. A look at
/// some forecasts how long it takes; what was decided then holds as long as `kept` and the sizes
/// do, so that a run that goes on decides alike. Files that cannot be read are passed over. About
/// 24 bytes a record, and 32 a file that is opened, are taken in memory. Throws ResourceError.
FoundCopies find_copies(const CopySearch& search);

}  // namespace headrace::inline v1::detail
