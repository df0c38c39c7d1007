#pragma once

#include <headrace/engine/loader/loader.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace headrace::test {

/// Pictures of different widths in the classes a and b, as PNG, which every decoder reads to the
/// same pixels.
void write_png_pictures(const std::filesystem::path& folder, int count);

/// Creates the folder of the file, too.
void write_bytes(const std::filesystem::path& file, std::span<const std::byte> bytes);

/// A grey PNG of 48 x 48 pixels whose value is `inside` in a square and 0 around it.
void write_square_mask(const std::filesystem::path& file, int inside);

/// Bright squares on dark ground, 0.png and so on, of `side` x `side` pixels, and their masks.
void write_squares(const std::filesystem::path& images, const std::filesystem::path& masks,
                   int count, int inside, int side = 48);

/// Name and bytes of every field of every batch of two epochs.
std::string bytes_of(Loader loader);

/// A hash of them.
std::uint64_t hash_of(Loader loader);

}  // namespace headrace::test
