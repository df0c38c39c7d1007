#include <headrace/models/networks/detail/map_filters.h>

#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/cat.h>

namespace headrace::inline v1::models::detail {

namespace {

struct Neighbours {
  at::Tensor before;
  at::Tensor after;
};

Neighbours along(const at::Tensor& maps, std::int64_t axis) {
  const std::int64_t rest = maps.size(axis) - 1;
  return {.before = at::cat({maps.narrow(axis, 0, 1), maps.narrow(axis, 0, rest)}, axis),
          .after = at::cat({maps.narrow(axis, 1, rest), maps.narrow(axis, rest, 1)}, axis)};
}

at::Tensor difference(const at::Tensor& maps, std::int64_t axis) {
  const Neighbours next = along(maps, axis);
  return next.after - next.before;
}

at::Tensor smoothed(const at::Tensor& maps, std::int64_t axis) {
  const Neighbours next = along(maps, axis);
  return next.before + 2.0 * maps + next.after;
}

}  // namespace

at::Tensor smooth_part(const at::Tensor& maps) {
  return at::avg_pool2d(maps, 3, 1, 1, /*ceil_mode=*/false, /*count_include_pad=*/false);
}

at::Tensor sharp_part(const at::Tensor& maps) {
  return maps - smooth_part(maps);
}

at::Tensor sobel_magnitude(const at::Tensor& maps) {
  const at::Tensor x = smoothed(difference(maps, 3), 2);
  const at::Tensor y = smoothed(difference(maps, 2), 3);
  return (x.abs() + y.abs()) / 8.0;
}

at::Tensor laplacian(const at::Tensor& maps) {
  const Neighbours x = along(maps, 3);
  const Neighbours y = along(maps, 2);
  return x.before + x.after + y.before + y.after - 4.0 * maps;
}

}  // namespace headrace::inline v1::models::detail
