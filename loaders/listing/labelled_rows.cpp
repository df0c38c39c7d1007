#include <headrace/engine/base/error.h>
#include <headrace/loaders/internal/require_index.h>
#include <headrace/loaders/listing/internal/label_array.h>
#include <headrace/loaders/listing/labelled_rows.h>
#include <headrace/loaders/memory/internal/gather_rows.h>

#include <utility>
#include <vector>

namespace headrace::inline v1 {
namespace {

void require_as_many(const Source& rows, const char* what, std::size_t count) {
  if (count == 0 || static_cast<std::int64_t>(count) == rows.size()) return;
  throw ConfigError("[" + rows.name() + "] must have a row for each of " + std::to_string(count) +
                    " " + what + ", got " + std::to_string(rows.size()));
}

}  // namespace

LabelledRows::LabelledRows(std::shared_ptr<const Source> rows, detail::RecordValues values)
    : rows_(std::move(rows)),
      values_(std::make_unique<const detail::RecordValues>(std::move(values))),
      labels_(detail::label_rows(*values_)) {
  require_as_many(*rows_, "labels", values_->labels.size());
  require_as_many(*rows_, "groups", values_->groups.size());
  Schema own;
  values_->add_fields(own);
  for (const FieldSpec& field : rows_->fields())
    if (own.find(field.name) != nullptr)
      throw ConfigError("[" + rows_->name() + "] field must be a name that no label has, got \"" +
                        field.name + "\"");
}

LabelledRows::~LabelledRows() = default;

const detail::RecordValues& LabelledRows::values() const noexcept {
  return *values_;
}

std::string LabelledRows::name() const {
  return rows_->name();
}

std::int64_t LabelledRows::size() const {
  return rows_->size();
}

Schema LabelledRows::fields() const {
  Schema schema = rows_->fields();
  values_->add_fields(schema);
  return schema;
}

void LabelledRows::read(std::int64_t index, Sample& sample) const {
  rows_->read(index, sample);
  values_->fill(static_cast<std::size_t>(index), sample);
}

bool LabelledRows::read_now(std::int64_t index, Sample& sample) const {
  if (!rows_->read_now(index, sample)) return false;
  values_->fill(static_cast<std::size_t>(index), sample);
  return true;
}

bool LabelledRows::blocking() const {
  return rows_->blocking();
}

bool LabelledRows::gathers() const {
  return rows_->gathers();
}

void LabelledRows::gather(std::span<const std::int64_t> indices, const Rows& rows) const {
  const std::size_t own = labels_.defined() ? 1 : 0;
  std::vector<Rows::Column> columns;
  for (std::size_t field = 0; field + own < rows.fields(); ++field)
    columns.push_back(rows[field]);
  rows_->gather(indices, Rows(columns, rows.count()));
  if (own == 0) return;
  detail::require_indices(indices, size());
  detail::gather_rows(static_cast<const std::byte*>(labels_.raw()), labels_.row(0).bytes(), indices,
                      rows[columns.size()]);
}

std::int64_t LabelledRows::preferred_rows() const {
  return rows_->preferred_rows();
}

std::size_t LabelledRows::working_bytes(std::int64_t index) const {
  return rows_->working_bytes(index);
}

std::size_t LabelledRows::largest_working_bytes() const {
  return rows_->largest_working_bytes();
}

std::size_t LabelledRows::resident_bytes() const {
  return rows_->resident_bytes() + values_->memory() + (labels_.defined() ? labels_.bytes() : 0);
}

std::string LabelledRows::origin(std::int64_t index) const {
  return rows_->origin(index);
}

}  // namespace headrace::inline v1
