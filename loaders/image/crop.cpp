#include <headrace/engine/base/error.h>
#include <headrace/loaders/image/crop.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace headrace::inline v1 {
namespace {

std::string text(int height, int width) {
  return std::to_string(height) + " x " + std::to_string(width);
}

/// base ^ u for u in [0, 1), from square roots: exp() differs in its last bit from one processor to
/// another.
double power(double base, double u) {
  double result = 1.0;
  for (int bit = 0; bit < 40 && u > 0; ++bit) {
    base = std::sqrt(base);
    u *= 2;
    if (u >= 1) {
      result *= base;
      u -= 1;
    }
  }
  return result;
}

ImageWindow whole(int width, int height) {
  return {0, 0, double(width), double(height), {.width = width, .height = height}};
}

ImageWindow window_of(const Region& region) {
  return {double(region.x), double(region.y), double(region.width), double(region.height), region};
}

/// Largest central rectangle whose ratio is allowed.
Region central(const RandomResizedCrop& crop, int width, int height) {
  Region region{.width = width, .height = height};
  const double ratio = double(width) / double(height);
  if (ratio < crop.ratio[0]) {
    region.height = static_cast<int>(std::nearbyint(width / crop.ratio[0]));
  } else if (ratio > crop.ratio[1]) {
    region.width = static_cast<int>(std::nearbyint(height * crop.ratio[1]));
  }
  region.width = std::clamp(region.width, 1, width);
  region.height = std::clamp(region.height, 1, height);
  region.x = (width - region.width) / 2;
  region.y = (height - region.height) / 2;
  return region;
}

Region draw(const RandomResizedCrop& crop, int width, int height, Random& random) {
  const double area = double(width) * double(height);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double wanted = area * random.uniform(crop.scale[0], crop.scale[1]);
    const double ratio = crop.ratio[0] * power(crop.ratio[1] / crop.ratio[0], random.uniform());
    const double w = std::nearbyint(std::sqrt(wanted * ratio));
    const double h = std::nearbyint(std::sqrt(wanted / ratio));
    if (w < 1 || h < 1 || w > width || h > height) continue;
    Region region{.width = static_cast<int>(w), .height = static_cast<int>(h)};
    region.y = static_cast<int>(random.below(height - region.height + 1));
    region.x = static_cast<int>(random.below(width - region.width + 1));
    return region;
  }
  return central(crop, width, height);
}

struct Place {
  int width;
  int height;
  Random& random;

  ImageWindow operator()(const WholeImage& wanted) const {
    if (wanted.width == width && wanted.height == height) return whole(width, height);
    throw DataError("picture must be " + text(wanted.height, wanted.width) +
                    " (height x width), got " + text(height, width) +
                    "; give a ResizeTo or a crop to make it so");
  }
  ImageWindow operator()(const RandomResizedCrop& crop) const {
    return window_of(draw(crop, width, height, random));
  }
  ImageWindow operator()(const ResizeTo&) const { return whole(width, height); }
  ImageWindow operator()(const ResizedCenterCrop& crop) const {
    const std::int64_t shorter = std::min(width, height);
    const std::int64_t new_width = std::int64_t{crop.resize} * width / shorter;
    const std::int64_t new_height = std::int64_t{crop.resize} * height / shorter;
    // torchvision rounds the offset half to even.
    const double left = std::nearbyint(double(new_width - crop.width) / 2);
    const double top = std::nearbyint(double(new_height - crop.height) / 2);
    const double across = double(width) / double(new_width);
    const double down = double(height) / double(new_height);
    return {left * across,
            top * down,
            crop.width * across,
            crop.height * down,
            {.width = width, .height = height}};
  }
};

struct Size {
  template <class Geometry>
  std::array<int, 2> operator()(const Geometry& geometry) const {
    return {geometry.height, geometry.width};
  }
};

[[noreturn]] void refuse_geometry(const std::string& who, const std::string& rule) {
  throw ConfigError("[" + who + "] " + rule);
}

}  // namespace

std::array<int, 2> size_of(const ImageGeometry& geometry) {
  return std::visit(Size{}, geometry);
}

void check(const ImageGeometry& geometry, const std::string& who) {
  const auto [height, width] = size_of(geometry);
  if (height < 1 || width < 1 || height > ImageLimits::side || width > ImageLimits::side) {
    refuse_geometry(who, "height and width must be 1 to 65536, got " + text(height, width) +
                             "; samples of a batch need one size, so say it");
  }
  if (const auto* crop = std::get_if<RandomResizedCrop>(&geometry)) {
    const auto [least, most] = crop->scale;
    if (!(least > 0 && least <= most && most <= 1)) {
      refuse_geometry(who, "scale must be 0 < least <= most <= 1, got " + std::to_string(least) +
                               ", " + std::to_string(most));
    }
    const auto [narrow, wide] = crop->ratio;
    if (!(narrow > 0 && narrow <= wide && wide < 1e6)) {
      refuse_geometry(who, "ratio must be 0 < least <= most, got " + std::to_string(narrow) + ", " +
                               std::to_string(wide));
    }
  }
  if (const auto* crop = std::get_if<ResizedCenterCrop>(&geometry)) {
    if (crop->resize < std::max(height, width)) {
      refuse_geometry(who, "resize must be at least height and width, got " +
                               std::to_string(crop->resize) + " for " + text(height, width));
    }
  }
}

ImageWindow place(const ImageGeometry& geometry, int width, int height, Random& random) {
  return std::visit(Place{width, height, random}, geometry);
}

}  // namespace headrace::inline v1
