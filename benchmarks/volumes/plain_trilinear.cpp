#include <headrace/benchmarks/volumes/augmented.h>
#include <headrace/benchmarks/volumes/plain_trilinear.h>
#include <headrace/loaders/volume/patch_sampler.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>
#include <utility>

namespace headrace::inline v1::bench {

namespace {

/// The eight voxels around a place, and how far it is from the first.
struct Corner {
  std::int32_t z, y, x;
  float dz, dy, dx;
};

/// Without a call, for places above -4096.
std::int32_t floored(float place) {
  constexpr std::int32_t below = 4096;
  return static_cast<std::int32_t>(place + static_cast<float>(below)) - below;
}

float between(float a, float b, float share) {
  return a + share * (b - a);
}

float mixed(const std::uint8_t* at, std::int64_t slice, std::int64_t row, const Corner& corner) {
  const auto line = [&](const std::uint8_t* from) {
    return between(static_cast<float>(from[0]), static_cast<float>(from[1]), corner.dx);
  };
  return between(between(line(at), line(at + row), corner.dy),
                 between(line(at + slice), line(at + slice + row), corner.dy), corner.dz);
}

float mixed_at_edge(const Voxels& of, const Corner& corner) {
  const auto& shape = of.info.shape;
  const auto values = of.values();
  const auto value = [&](std::int64_t z, std::int64_t y, std::int64_t x) {
    if (z < 0 || y < 0 || x < 0 || z >= shape[1] || y >= shape[2] || x >= shape[3]) return 0.0F;
    return static_cast<float>(values[static_cast<std::size_t>((z * shape[2] + y) * shape[3] + x)]);
  };
  const auto line = [&](std::int64_t z, std::int64_t y) {
    return between(value(z, y, corner.x), value(z, y, corner.x + 1), corner.dx);
  };
  const auto slice = [&](std::int64_t z) {
    return between(line(z, corner.y), line(z, corner.y + 1), corner.dy);
  };
  return between(slice(corner.z), slice(corner.z + 1), corner.dz);
}

}  // namespace

PlainTrilinear::PlainTrilinear(Voxels image, Voxels label, std::array<double, 2> mean_and_deviation)
    : image_(std::move(image)),
      label_(std::move(label)),
      scale_(static_cast<float>(1 / mean_and_deviation[1])),
      offset_(static_cast<float>(-mean_and_deviation[0] / mean_and_deviation[1])) {}

void PlainTrilinear::cut(const SpatialMap& map, float* image, std::uint8_t* label) const {
  const auto& shape = image_.info.shape;
  const auto depth = static_cast<std::int32_t>(shape[1]);
  const auto height = static_cast<std::int32_t>(shape[2]);
  const auto width = static_cast<std::int32_t>(shape[3]);
  const std::int64_t row = shape[3];
  const std::int64_t slice = row * shape[2];
  const auto& m = map.matrix;
  const auto step_z = static_cast<float>(m[2]);
  const auto step_y = static_cast<float>(m[5]);
  const auto step_x = static_cast<float>(m[8]);
  const std::uint8_t* image_from = image_.values().data();
  const std::uint8_t* label_from = label_.values().data();
  std::int64_t out = 0;
  for (std::int64_t i = 0; i < map.patch[0]; ++i) {
    for (std::int64_t j = 0; j < map.patch[1]; ++j) {
      const auto a = static_cast<double>(i);
      const auto b = static_cast<double>(j);
      const auto z0 = static_cast<float>(map.origin[0] + m[0] * a + m[1] * b);
      const auto y0 = static_cast<float>(map.origin[1] + m[3] * a + m[4] * b);
      const auto x0 = static_cast<float>(map.origin[2] + m[6] * a + m[7] * b);
      for (std::int64_t k = 0; k < map.patch[2]; ++k, ++out) {
        const auto c = static_cast<float>(k);
        const float z = z0 + step_z * c;
        const float y = y0 + step_y * c;
        const float x = x0 + step_x * c;
        const auto iz = floored(z);
        const auto iy = floored(y);
        const auto ix = floored(x);
        if (iz < -1 || iy < -1 || ix < -1 || iz >= depth || iy >= height || ix >= width) {
          image[out] = offset_;
          if (label != nullptr) label[out] = 0;
          continue;
        }
        const Corner corner{iz,
                            iy,
                            ix,
                            z - static_cast<float>(iz),
                            y - static_cast<float>(iy),
                            x - static_cast<float>(ix)};
        const bool inside =
            iz >= 0 && iy >= 0 && ix >= 0 && iz + 1 < depth && iy + 1 < height && ix + 1 < width;
        const std::int64_t at = iz * slice + iy * row + ix;
        const float value =
            inside ? mixed(image_from + at, slice, row, corner) : mixed_at_edge(image_, corner);
        image[out] = value * scale_ + offset_;
        if (label == nullptr) continue;
        const float weight =
            inside ? mixed(label_from + at, slice, row, corner) : mixed_at_edge(label_, corner);
        label[out] = static_cast<std::uint8_t>(weight > 0.5F);
      }
    }
  }
}

double cut_on_threads(const PlainTrilinear& plain, const Work& work, std::int64_t patches,
                      std::uint64_t seed) {
  const SpatialTransform transform = transform_of(Augmented::spatial);
  const auto voxels = static_cast<std::size_t>(work.patch[0] * work.patch[1] * work.patch[2]);
  std::atomic<std::int64_t> next{0};
  const auto thread = [&] {
    std::vector<float> image(voxels);
    std::vector<std::uint8_t> label(plain.has_label() ? voxels : 0);
    for (std::int64_t i = next++; i < patches; i = next++) {
      Random random(RandomKey{.seed = seed, .position = i});
      const auto middle = uniform_middle(plain.info().shape, work.patch, random);
      plain.cut(transform.draw(work.patch, middle, random), image.data(),
                plain.has_label() ? label.data() : nullptr);
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < work.threads; ++i)
    threads.emplace_back(thread);
  threads.clear();
  return static_cast<double>(patches);
}

}  // namespace headrace::inline v1::bench
