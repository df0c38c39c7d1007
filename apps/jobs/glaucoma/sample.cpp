#include <headrace/apps/jobs/glaucoma/labels.h>
#include <headrace/apps/jobs/glaucoma/names.h>
#include <headrace/apps/jobs/glaucoma/sample.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

std::uint8_t pair_mean(std::uint8_t a, std::uint8_t b) {
  return static_cast<std::uint8_t>((a + b + 1) / 2);
}

template <class T>
std::uint8_t pair_mean(T a, T b) {
  if (!std::isfinite(a) || !std::isfinite(b))
    throw DataError("a map must hold finite numbers, got NaN or infinity");
  const T mean = (std::clamp(a, T{0}, T{255}) + std::clamp(b, T{0}, T{255})) / T{2};
  return static_cast<std::uint8_t>(std::floor(mean + T{0.5}));
}

template <class T>
void write_channel(const Tensor& first, const Tensor& second, std::uint8_t* image) {
  const std::span<const T> a = first.values<T>();
  const std::span<const T> b = second.values<T>();
  for (std::size_t i = 0; i < a.size(); ++i)
    image[3 * i] = pair_mean(a[i], b[i]);
}

}  // namespace

Schema GlaucomaSample::schema(const Schema& in) const {
  const FieldSpec& first = in.at(glaucoma_map_names[0], "pair mean");
  const bool known =
      first.dtype == DType::uint8 || first.dtype == DType::float32 || first.dtype == DType::float64;
  if (!known || first.shape.rank() != 2) {
    throw ConfigError(
        fmt::format("[pair mean] field \"{}\" must be uint8, float32 or float64 [H, W], got {}",
                    glaucoma_map_names[0], to_string(first)));
  }
  Schema out = in;
  for (const std::string_view map : glaucoma_map_names) {
    const FieldSpec& field = in.at(map, "pair mean");
    if (field.shape != first.shape || field.dtype != first.dtype) {
      throw ConfigError(fmt::format("[pair mean] all maps must be like {}, got {}",
                                    to_string(first), to_string(field)));
    }
    out.remove(map);
  }
  out.put(FieldSpec::fixed("image", DType::uint8, {first.shape[0], first.shape[1], 3}));
  if (const FieldSpec* labels = in.find("labels")) {
    if (!are_glaucoma_labels(*labels)) {
      throw ConfigError(fmt::format("[pair mean] labels must be {}, got rows of {}",
                                    glaucoma_labels_rule, to_string(*labels)));
    }
    out.remove("labels");
    out.put(FieldSpec::fixed("label", DType::int64, {}));
  }
  return out;
}

void GlaucomaSample::operator()(Sample& sample) const {
  const Shape maps = sample[glaucoma_map_names[0]].shape();
  std::uint8_t* image =
      sample.make("image", DType::uint8, {maps[0], maps[1], 3}).data<std::uint8_t>();
  for (std::size_t channel = 0; channel < 3; ++channel) {
    const Tensor& a = sample[glaucoma_map_names[2 * channel]];
    const Tensor& b = sample[glaucoma_map_names[2 * channel + 1]];
    if (a.dtype() == DType::uint8) {
      write_channel<std::uint8_t>(a, b, image + channel);
    } else if (a.dtype() == DType::float64) {
      write_channel<double>(a, b, image + channel);
    } else {
      write_channel<float>(a, b, image + channel);
    }
  }
  if (sample.has("labels")) sample.set_scalar<std::int64_t>("label", class_of(sample["labels"]));
  for (const std::string_view map : glaucoma_map_names)
    sample.remove(map);
  sample.remove("labels");
}

}  // namespace headrace::inline v1::app
