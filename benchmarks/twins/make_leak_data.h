#pragma once

#include <cstdint>
#include <filesystem>

namespace headrace::inline v1::bench {

/// Writes a file of the leak job's layout, segments_mel float16 [recordings, 40, 2, 64, 5] and
/// labels, made of numbers and not of sounds, unless it is there. The same segments one after
/// another, as someone would store them who reads by index, are in flat_mel [segments, 64, 5] and
/// flat_label int64 [segments].
void make_leak_data(const std::filesystem::path& file, std::int64_t recordings);

}  // namespace headrace::inline v1::bench
