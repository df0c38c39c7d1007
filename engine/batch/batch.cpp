#include <headrace/engine/batch/batch.h>
#include <headrace/engine/batch/internal/loan.h>

#include <algorithm>
#include <utility>

namespace headrace::inline v1 {

namespace {

/// A name that the layout gives to the offsets of a ragged field has one more row than the batch.
const detail::Layout::Field* ragged_of(const detail::Layout& layout, std::string_view name,
                                       bool& offsets) {
  for (const auto& field : layout.fields()) {
    if (field.spec.kind != FieldSpec::Kind::ragged) continue;
    offsets = layout.columns()[field.extra].name == name;
    if (offsets || field.spec.name == name) return &field;
  }
  return nullptr;
}

}  // namespace

std::optional<std::int64_t> Batch::valid_rows() const {
  const auto made = [](const auto& field) { return field.first == "valid"; };
  if (std::ranges::any_of(loan_->extra(), made)) return std::nullopt;
  if (loan_->layout().has_valid()) return size() - loan_->absent_rows(first_, last_);
  return has("valid") ? std::nullopt : std::optional(size());
}

std::int64_t Batch::number() const noexcept {
  return loan_->place().number;
}
std::int64_t Batch::epoch() const noexcept {
  return loan_->place().epoch;
}

bool Batch::has(std::string_view name) const noexcept {
  const auto& extra = loan_->extra();
  return loan_->layout().find_delivered(name) != nullptr ||
         std::any_of(extra.begin(), extra.end(),
                     [&](const auto& field) { return field.first == name; });
}

std::vector<std::string> Batch::names() const {
  std::vector<std::string> names;
  for (const auto& column : loan_->layout().columns()) {
    if (!column.host_only) names.push_back(column.name);
  }
  for (const auto& [name, tensor] : loan_->extra()) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

Tensor Batch::operator[](std::string_view name) const {
  bool offsets = false;
  const auto* ragged = ragged_of(loan_->layout(), name, offsets);
  const std::int64_t rows = loan_->place().size;
  for (const auto& [extra_name, tensor] : loan_->extra()) {
    if (extra_name != name) continue;
    const Tensor whole =
        Tensor::borrow(tensor.raw(), tensor.dtype(), tensor.shape(), loan_, tensor.device());
    if (ragged != nullptr) return offsets ? whole.rows(first_, last_ + 1) : whole;
    const bool per_row = whole.shape().rank() > 0 && whole.shape()[0] == rows;
    return per_row ? whole.rows(first_, last_) : whole;
  }
  const auto* column = loan_->layout().find_delivered(name);
  if (column == nullptr) {
    std::string known;
    for (const auto& each : names())
      known += (known.empty() ? "" : ", ") + each;
    throw PipelineError("[batch] field \"" + std::string(name) +
                        "\" was asked for, this batch has: " + known);
  }
  const auto view = [&](const Shape& shape) {
    return Tensor::borrow(loan_->memory().memory + column->offset, column->dtype, shape, loan_,
                          loan_->memory().device);
  };
  if (ragged == nullptr) return view(column->row.batched(rows)).rows(first_, last_);
  if (offsets) return view(Shape{size() + 1 + first_}).rows(first_, last_ + 1);
  const auto field = static_cast<std::size_t>(ragged - loan_->layout().fields().data());
  return view(Shape{loan_->ragged_end(field)});
}

Batch Batch::rows(std::int64_t first, std::int64_t last) const {
  if (first < 0 || last < first || last > size()) {
    throw PipelineError("[batch] rows [" + std::to_string(first) + ", " + std::to_string(last) +
                        ") must lie in a batch of " + std::to_string(size()));
  }
  return Batch(loan_, first_ + first, first_ + last);
}

std::vector<Origin> Batch::origins() const {
  return row_origins().list();
}

RowOrigins Batch::row_origins() const {
  const auto& place = loan_->place();
  RowOrigins rows;
  rows.source_ = loan_->context().source;
  rows.order_ = loan_->context().order;
  rows.replaced_ = loan_->replaced;
  rows.epoch_ = place.epoch;
  rows.batch_ = place.number;
  rows.position_ = place.first + first_;
  rows.first_ = first_;
  rows.present_ = std::clamp<std::int64_t>(place.rows - first_, 0, size());
  rows.size_ = size();
  return rows;
}

Position Batch::position_after() const {
  const auto& order = *loan_->context().order;
  const auto& place = loan_->place();
  // Where each rank has done as many rows of its share, those of the first lie in front.
  const bool whole = last_ == place.size;
  return {.seed = order.seed(),
          .epoch = epoch(),
          .position = whole ? place.after : std::min(place.before + last_, place.after),
          .order_version = IndexStream::version};
}

void Batch::also_used_on(Stream stream) const {
  loan_->use_on(stream);
}

Tensor Batch::on_host(std::string_view name) const {
  const auto* column = loan_->layout().find(name);
  if (column == nullptr || !column->host_only) {
    throw PipelineError("[batch] field \"" + std::string(name) +
                        "\" was asked for on the host, where this batch does not keep it");
  }
  const Tensor whole = Tensor::borrow(loan_->host_memory() + column->offset, column->dtype,
                                      column->row.batched(loan_->place().size), {}, Device::cpu());
  return whole.rows(first_, last_);
}

void Batch::set(std::string_view name, Tensor tensor) {
  // A view of this batch holds its loan; kept in the loan itself, it would hold it for ever.
  const std::shared_ptr<const void>& keep = tensor.keep();
  if (!keep.owner_before(loan_) && !loan_.owner_before(keep)) {
    tensor = Tensor::borrow(tensor.raw(), tensor.dtype(), tensor.shape(), {}, tensor.device());
  }
  loan_->put(name, std::move(tensor));
}

Tensor Batch::make(std::string_view name, DType dtype, const Shape& shape) {
  Tensor tensor = loan_->memory().make(name, dtype, shape, loan_->extra());
  loan_->put(name, tensor);
  return tensor;
}

}  // namespace headrace::inline v1
