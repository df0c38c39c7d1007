#include <headrace/augment/volume/detail/labels.h>
#include <headrace/augment/volume/detail/thinning.h>
#include <headrace/augment/volume/skeleton.h>

#include <algorithm>

namespace headrace::inline v1 {
namespace {

[[noreturn]] void refuse_skeleton(const std::string& rule, const std::string& got) {
  throw ConfigError("[skeleton] " + rule + ", got " + got);
}

/// Each voxel of the skeleton gets the label's value.
void put_labels(const Tensor& label, std::uint8_t* skeleton) {
  detail::with_labels(label, [&](const auto* from) {
    for (std::int64_t i = 0; i < label.elements(); ++i) {
      if (skeleton[i] == 0) continue;
      const auto value = static_cast<std::int64_t>(from[i]);
      if (value < 0 || value > 255) {
        throw DataError("[skeleton] labels must be 0 to 255 to be kept, got " +
                        std::to_string(value));
      }
      skeleton[i] = static_cast<std::uint8_t>(value);
    }
  });
}

/// Places in lists are 32 bits.
void check_size(const detail::LabelGrid& grid) {
  const double padded = static_cast<double>(grid.depth + 2) * static_cast<double>(grid.height + 2) *
                        static_cast<double>(grid.width + 2);
  if (padded < 2147483647.0) return;
  throw DataError("[skeleton] a label must have fewer than 2^31 voxels");
}

}  // namespace

Schema Skeleton::schema(const Schema& in) const {
  const FieldSpec& label = detail::label_field(in, field, name());
  if (grow < 0 || grow > 100) refuse_skeleton("grow must be 0 to 100", std::to_string(grow));
  if (to == field) refuse_skeleton("to must be another field than the label", to);
  Schema out = in;
  FieldSpec skeleton = label;
  skeleton.name = to;
  skeleton.dtype = DType::uint8;
  skeleton.fill = 0;
  out.put(skeleton);
  return out;
}

std::size_t Skeleton::working_bytes(const Schema& in) const {
  const detail::LabelGrid grid = detail::label_grid(detail::label_field(in, field, name()).shape);
  return detail::thinning_bytes(grid) + static_cast<std::size_t>(grid.count());
}

void Skeleton::operator()(Sample& sample) const {
  const Tensor label = detail::label_of(sample, field);
  const detail::LabelGrid grid = detail::label_grid(label.shape());
  check_size(grid);
  auto* out = sample.make(to, DType::uint8, label.shape()).data<std::uint8_t>();
  detail::mark_labels(label, labels, ignore, out);
  if (slices) {
    for (std::int64_t z = 0; z < grid.depth; ++z)
      detail::thin(out + z * grid.plane(), {1, grid.height, grid.width});
  } else {
    detail::thin(out, grid);
  }
  for (int i = 0; i < grow; ++i)
    detail::grow_by_neighbours(out, grid);
  if (keep_labels) put_labels(label, out);
}

}  // namespace headrace::inline v1
