#include <headrace/engine/base/error.h>
#include <headrace/engine/device/internal/device_objects.h>
#include <headrace/engine/tensor/huge_pages.h>
#include <headrace/loaders/internal/require_index.h>
#include <headrace/loaders/memory/detail/device_upload.h>
#include <headrace/loaders/memory/detail/record_reader.h>
#include <headrace/loaders/memory/device_table.h>
#include <headrace/loaders/memory/internal/table_gather.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace headrace::inline v1 {
namespace {

constexpr std::size_t alignment = 256;
/// Bytes that travel to a device in one piece.
constexpr std::size_t upload_bytes = std::size_t{8} << 20;

std::size_t at(std::int64_t i) noexcept {
  return static_cast<std::size_t>(i);
}

std::size_t aligned(std::size_t bytes) noexcept {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

struct DeviceTable::Core {
  struct Column {
    FieldSpec spec;
    std::size_t row_bytes = 0;
    std::size_t offset = 0;
  };

  std::shared_ptr<const Source> source;
  DeviceTableOptions options;
  std::vector<Column> columns;
  std::int64_t rows = 0;
  std::size_t bytes = 0;
  HugePages host;
  detail::DeviceMemory device;
  std::byte* memory = nullptr;  ///< of the table, once it is loaded

  /// Records that travel to the device at once, and where their columns lie in a buffer, its size
  /// last.
  std::int64_t piece_records() const;
  std::vector<std::size_t> piece_offsets() const;
  void lay_out();
  void require_room() const;
  void load_on_host();
  void load_on_device();
  std::string who() const { return "[device table] " + source->name() + ": "; }
};

void DeviceTable::Core::lay_out() {
  constexpr std::size_t most_row_bytes = std::size_t{1} << 31;
  rows = source->size();
  for (const FieldSpec& spec : source->fields()) {
    if (spec.kind != FieldSpec::Kind::fixed) {
      throw ConfigError(who() + "field \"" + spec.name + "\" must be of fixed size, got " +
                        to_string(spec) + "; leave it out, or read it row by row");
    }
    if (spec.name == options.field) {
      throw ConfigError(who() + "the field of row numbers cannot be called \"" + spec.name +
                        "\" as one of the table's; choose another name");
    }
    const std::size_t row_bytes = spec.row_bytes();
    std::size_t column = 0;
    if (row_bytes > most_row_bytes || __builtin_mul_overflow(row_bytes, at(rows), &column) ||
        __builtin_add_overflow(bytes, column, &bytes) || bytes > std::size_t{1} << 47) {
      throw ConfigError(who() + "field \"" + spec.name + "\" " + to_string(spec.shape) + " of " +
                        std::to_string(rows) + " records does not fit into a device");
    }
    columns.push_back({spec, row_bytes, bytes - column});
    bytes = aligned(bytes);
  }
}

std::int64_t DeviceTable::Core::piece_records() const {
  return std::min(detail::RecordReader(*source).records_in(upload_bytes),
                  std::max<std::int64_t>(rows, 1));
}

std::vector<std::size_t> DeviceTable::Core::piece_offsets() const {
  std::vector<std::size_t> offsets{0};
  for (const Column& column : columns)
    offsets.push_back(offsets.back() + aligned(column.row_bytes * at(piece_records())));
  return offsets;
}

void DeviceTable::Core::require_room() const {
  std::size_t room = options.memory;
  std::string allowed = "its limit is";
  if (options.device.is_cuda()) {
    const std::size_t free = detail::free_device_bytes(options.device);
    if (room == 0 || free < room) {
      room = free;
      allowed = to_string(options.device) + " has free";
    }
  } else if (room == 0) {
    return;
  }
  if (bytes <= room) return;
  throw ResourceError(who() + std::to_string(bytes) + " bytes must be in memory at once, " +
                      allowed + " " + std::to_string(room) +
                      "; keep the data in host memory, or raise the limit");
}

void DeviceTable::Core::load_on_host() {
  HugePages pages(bytes);
  std::vector<Rows::Column> to;
  for (const Column& column : columns)
    to.push_back({pages.data() + column.offset, column.row_bytes});
  detail::RecordReader(*source).read(0, rows, to);
  host = std::move(pages);
  memory = host.data();
}

void DeviceTable::Core::load_on_device() {
  const detail::DeviceScope scope(options.device);
  detail::DeviceMemory table =
      detail::allocate_on_device(options.device, std::max(bytes, alignment));
  const detail::RecordReader reader(*source);
  const std::int64_t step = piece_records();
  const std::vector<std::size_t> offsets = piece_offsets();
  detail::DeviceUpload upload(options.device, offsets.back());
  for (std::int64_t first = 0; first < rows; first += step) {
    const std::int64_t count = std::min(step, rows - first);
    std::byte* from = upload.next();
    std::vector<Rows::Column> to;
    for (std::size_t c = 0; c < columns.size(); ++c)
      to.push_back({from + offsets[c], columns[c].row_bytes});
    reader.read(first, count, to);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const Column& column = columns[c];
      if (column.row_bytes == 0) continue;
      upload.send(table.get() + column.offset + at(first) * column.row_bytes, to[c].first,
                  at(count) * column.row_bytes);
    }
    upload.sent();
  }
  upload.finish();
  device = std::move(table);
  memory = device.get();
}

DeviceTable::DeviceTable(std::shared_ptr<const Source> source, DeviceTableOptions options)
    : core_(std::make_shared<Core>()) {
  if (source == nullptr) throw ConfigError("[device table] needs a source, got none");
  detail::require_device(options.device, "device table");
  core_->source = std::move(source);
  core_->options = std::move(options);
  core_->lay_out();
}

void DeviceTable::load() {
  if (loaded()) return;
  core_->require_room();
  core_->options.device.is_cuda() ? core_->load_on_device() : core_->load_on_host();
}

bool DeviceTable::loaded() const noexcept {
  return core_->memory != nullptr || core_->bytes == 0;
}
std::size_t DeviceTable::bytes() const noexcept {
  return core_->bytes;
}
std::size_t DeviceTable::host_bytes() const noexcept {
  if (!core_->options.device.is_cuda()) return HugePages::mapped_bytes(core_->bytes);
  return 2 * HugePages::mapped_bytes(core_->piece_offsets().back());
}
DeviceTable::GatherStep DeviceTable::gather_step() const {
  return GatherStep(core_);
}

std::string DeviceTable::name() const {
  return core_->source->name() + " on " + to_string(core_->options.device);
}
std::int64_t DeviceTable::size() const {
  return core_->rows;
}
Schema DeviceTable::fields() const {
  return {FieldSpec::fixed(core_->options.field, DType::int64, Shape{})};
}

void DeviceTable::read(std::int64_t index, Sample& sample) const {
  detail::require_index(index, size());
  sample.set_scalar<std::int64_t>(core_->options.field, index);
}

void DeviceTable::gather(std::span<const std::int64_t> indices, const Rows& rows) const {
  detail::require_indices(indices, size());
  for (std::size_t k = 0; k < indices.size(); ++k)
    std::memcpy(rows.row(0, static_cast<std::int64_t>(k)), &indices[k], sizeof indices[k]);
}

std::size_t DeviceTable::resident_bytes() const {
  return core_->source->resident_bytes() + core_->host.mapped_bytes();
}
std::string DeviceTable::origin(std::int64_t index) const {
  return core_->source->origin(index);
}
std::int64_t DeviceTable::part(std::int64_t index) const {
  return core_->source->part(index);
}

Schema DeviceTable::GatherStep::schema(const Schema& in) const {
  const FieldSpec& row = in.at(core_->options.field, name());
  if (row.dtype != DType::int64 || row.shape.rank() != 0 || row.kind != FieldSpec::Kind::fixed) {
    throw ConfigError("[gather] row numbers must be int64 [], got " + to_string(row));
  }
  Schema out = in;
  for (const Core::Column& column : core_->columns)
    out.put(column.spec);
  return out;
}

void DeviceTable::GatherStep::operator()(Batch& batch, Stream stream) const {
  const Tensor rows = batch[core_->options.field];
  const std::int64_t count = batch.size();
  if (core_->memory == nullptr && core_->bytes > 0) {
    throw PipelineError("[gather] the table of " + core_->source->name() +
                        " is not in memory; call load() first");
  }
  if (rows.device() != core_->options.device || rows.shape() != Shape{count}) {
    throw PipelineError("[gather] row numbers must be " + to_string(Shape{count}) + " on " +
                        to_string(core_->options.device) + " as the table is, got " +
                        to_string(rows.shape()) + " on " + to_string(rows.device()));
  }
  const bool padded = batch.has("valid");
  const Tensor valid = padded ? batch["valid"] : Tensor();
  std::vector<detail::GatherColumn> columns;
  columns.reserve(core_->columns.size());
  for (const Core::Column& column : core_->columns) {
    if (padded && column.spec.name == "valid")
      throw PipelineError("[gather] two fields are called \"valid\"; rename the table's");
    const Tensor made =
        batch.make(column.spec.name, column.spec.dtype, column.spec.shape.batched(count));
    columns.push_back(
        {core_->memory + column.offset, column.row_bytes, static_cast<std::byte*>(made.raw())});
  }
  const detail::TableGather task{.columns = columns.data(),
                                 .column_count = static_cast<int>(columns.size()),
                                 .table_rows = core_->rows,
                                 .rows = rows.data<std::int64_t>(),
                                 .valid = padded ? valid.data<bool>() : nullptr,
                                 .count = count};
  if (rows.device().is_cuda()) {
    detail::launch(detail::gather_kernel, &task, rows.device(), stream);
  } else {
    detail::gather_on_host(task);
  }
}

}  // namespace headrace::inline v1
