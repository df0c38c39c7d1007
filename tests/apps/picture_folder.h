#pragma once

#include <headrace/engine/loader/loader.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace headrace::test {

/// Pictures of different widths in the classes a and b, as PNG, which every decoder reads to the
/// same pixels.
void write_png_pictures(const std::filesystem::path& folder, int count);

/// Name and bytes of every field of every batch of two epochs.
std::string bytes_of(Loader loader);

/// A hash of them.
std::uint64_t hash_of(Loader loader);

}  // namespace headrace::test
