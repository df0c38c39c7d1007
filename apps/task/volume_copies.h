#pragma once

#include <headrace/apps/task/duplicates.h>
#include <headrace/apps/task/known_records.h>
#include <headrace/loaders/volume/nnunet_raw.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Whole paths of a volume: its own, a pair's both, or those below a folder that is one; in order.
std::vector<std::string> files_of_volume(const std::filesystem::path& volume);

/// Bytes of files; 0 where one cannot be looked at.
std::uint64_t bytes_of_files(const std::vector<std::string>& files);

/// Cases among which copies are looked for, by the files of all their channels; the files of their
/// labels are what copies must agree in.
CopyList copy_list(Side side, const std::filesystem::path& folder, std::vector<NnUNetCase> cases);

/// Where these cases lie.
PlacedList placed_list(std::vector<NnUNetCase> cases, std::vector<std::int64_t> numbers);

}  // namespace headrace::inline v1::app
