#include <headrace/engine/batch/row_origins.h>
#include <headrace/engine/order/order.h>
#include <headrace/engine/sample/source.h>

namespace headrace::inline v1 {

std::vector<Origin> RowOrigins::list() const {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(present_));
  order_->indices(epoch_, position_, indices);
  for (const auto& [row, index] : replaced_) {
    if (row >= first_ && row < first_ + present_)
      indices[static_cast<std::size_t>(row - first_)] = index;
  }
  std::vector<Origin> origins(static_cast<std::size_t>(size_));
  for (std::int64_t i = 0; i < size_; ++i) {
    Origin& origin = origins[static_cast<std::size_t>(i)];
    origin.epoch = epoch_;
    origin.batch = batch_;
    origin.row = i;
    if (i >= present_) continue;
    origin.index = indices[static_cast<std::size_t>(i)];
    origin.part = source_->part(origin.index);
    origin.position = position_ + i;
    origin.file = source_->origin(origin.index);
  }
  return origins;
}

}  // namespace headrace::inline v1
