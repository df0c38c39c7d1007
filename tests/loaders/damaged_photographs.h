#pragma once

#include <headrace/engine/base/random.h>
#include <headrace/tests/loaders/image_files.h>

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Photographs of every kind of coding, and what may happen to a file on its way.
namespace headrace::test {

/// Soft blobs, hard edges and a little noise, as a lens gives them.
inline Pixels photograph(int width, int height, int channels, std::uint64_t seed) {
  struct Blob {
    double x, y, reach;
    double shade[3];
  };
  Random random(RandomKey{.seed = seed, .operation = 1});
  std::vector<Blob> blobs(12);
  for (Blob& blob : blobs) {
    blob = {random.uniform() * width,
            random.uniform() * height,
            (0.05 + 0.3 * random.uniform()) * width,
            {}};
    for (double& shade : blob.shade)
      shade = 255.0 * random.uniform();
  }
  Pixels pixels;
  pixels.reserve(static_cast<std::size_t>(width * height * channels));
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      double sum[3] = {};
      double weight = 1e-9;
      for (const Blob& blob : blobs) {
        const double far = std::hypot(x - blob.x, y - blob.y) / blob.reach;
        const double share = far < 0.4 ? 4.0 : 1.0 / (1.0 + far * far * far * far);
        for (int c = 0; c < 3; ++c)
          sum[c] += share * blob.shade[c];
        weight += share;
      }
      for (int c = 0; c < channels; ++c) {
        const double value = sum[c] / weight + 6.0 * random.uniform() - 3.0;
        pixels.push_back(static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0)));
      }
    }
  }
  return pixels;
}

struct Photograph {
  std::string kind;
  Bytes file;
};

/// One of each kind of coding; sides that are no multiples of an MCU among them.
inline std::vector<Photograph> photographs(int width = 150, int height = 117) {
  const auto make = [&](const std::string& kind, JpegSpec spec, std::uint64_t seed) {
    spec.width = width;
    spec.height = height;
    return Photograph{kind, encode_jpeg(spec, photograph(width, height, spec.components, seed))};
  };
  return {make("4:2:0", {}, 1),
          make("4:4:4", {.h_samp = 1, .v_samp = 1}, 2),
          make("4:2:2, optimised", {.v_samp = 1, .optimized = true}, 3),
          make("grey", {.components = 1}, 4),
          make("progressive", {.progressive = true}, 5),
          make("restarts", {.restart_rows = 1}, 6),
          make("progressive with restarts", {.progressive = true, .restart_rows = 2}, 7)};
}

/// The file damaged once, at a place beyond its first marker: bits turned over, a byte overwritten,
/// bytes gone, the end gone (with an end marker put back, or without), a block of zeros.
inline Bytes damaged(Bytes file, std::uint64_t seed) {
  Random random(RandomKey{.seed = seed, .operation = 2});
  const auto below = [&](std::size_t limit) {
    return static_cast<std::size_t>(random.below(static_cast<std::int64_t>(limit)));
  };
  const std::size_t at = 2 + below(file.size() - 2);
  const auto place = file.begin() + static_cast<std::ptrdiff_t>(at);
  const std::size_t length = std::min(1 + below(64), file.size() - at);
  switch (below(6)) {
    case 0:
      for (std::size_t i = 0; i <= below(3); ++i)
        file[2 + below(file.size() - 2)] ^= static_cast<std::byte>(1 << below(8));
      break;
    case 1:
      *place = static_cast<std::byte>(below(256));
      break;
    case 2:
      file.erase(place, place + static_cast<std::ptrdiff_t>(length));
      break;
    case 3:
      file.erase(place, file.end());
      break;
    case 4:
      file.erase(place, file.end());
      file.insert(file.end(), {std::byte{0xff}, std::byte{0xd9}});
      break;
    default:
      std::fill_n(place, length, std::byte{0});
  }
  return file;
}

/// What libjpeg-turbo makes of a file, decoded whole and ended in good order.
struct PlainVerdict {
  bool complains = false;  ///< an error or a warning
  bool too_large = false;  ///< nobody waits for so many pixels; nothing else is known
  Pixels rgb{};
};

/// An error manager that counts warnings and comes back from errors.
struct CountingErrors {
  jpeg_error_mgr base{};  // first: the library hands out a pointer to it
  std::jmp_buf jump{};

  jpeg_error_mgr* attach() {
    jpeg_std_error(&base);
    base.error_exit = [](j_common_ptr info) {
      std::longjmp(reinterpret_cast<CountingErrors*>(info->err)->jump, 1);
    };
    base.output_message = [](j_common_ptr) {};
    return &base;
  }
};

inline PlainVerdict plain_verdict(const Bytes& file) {
  PlainVerdict verdict;
  jpeg_decompress_struct info{};
  CountingErrors errors;
  info.err = errors.attach();
  jpeg_create_decompress(&info);
  if (setjmp(errors.jump) != 0) {
    jpeg_destroy_decompress(&info);
    verdict.complains = true;
    return verdict;
  }
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&info, TRUE);
  verdict.too_large = std::size_t{info.image_width} * info.image_height > (1U << 21);
  if (!verdict.too_large) {
    info.out_color_space = JCS_RGB;
    jpeg_start_decompress(&info);
    const std::size_t row = std::size_t{3} * info.output_width;
    verdict.rgb.resize(row * info.output_height);
    while (info.output_scanline < info.output_height) {
      JSAMPROW to = verdict.rgb.data() + row * info.output_scanline;
      jpeg_read_scanlines(&info, &to, 1);
    }
    jpeg_finish_decompress(&info);
  }
  verdict.complains = errors.base.num_warnings > 0;
  jpeg_destroy_decompress(&info);
  return verdict;
}

}  // namespace headrace::test
