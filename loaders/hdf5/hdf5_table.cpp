#include <headrace/engine/base/error.h>
#include <headrace/engine/tensor/huge_pages.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/hdf5/detail/file/global_heap.h>
#include <headrace/loaders/hdf5/detail/table/table_plan.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/loaders/internal/require_index.h>
#include <headrace/loaders/internal/scratch_pool.h>
#include <headrace/loaders/memory/internal/gather_rows.h>

#include <algorithm>
#include <array>
#include <utility>

namespace headrace::inline v1 {

namespace {

/// Indices and places of one gather, translated.
struct GatherScratch {
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> in_file;
  std::vector<std::uint32_t> places;
};

std::size_t held_bytes(const detail::TableField& field) {
  if (field.resident()) return HugePages::mapped_bytes(field.rows.bytes());
  std::size_t bytes = 0;
  for (const auto& reader : field.readers)
    bytes += reader->bytes();
  return bytes;
}

}  // namespace

struct Hdf5Table::Core {
  detail::TablePlan plan;
  std::size_t resident_bytes = 0;
  std::int64_t chunk_rows = 1;
  bool blocking = false;
  bool ragged = false;  ///< some field is
  mutable detail::ScratchPool<GatherScratch> scratches;

  const detail::TableFile& file_of(std::int64_t row) const {
    const auto after = std::ranges::upper_bound(plan.files, row, {}, &detail::TableFile::first_row);
    return *(after - 1);
  }

  /// Reads rows of a field that is not resident; file by file where there are several.
  void read_rows(const detail::TableField& field, std::span<const std::int64_t> rows,
                 Rows::Column out, GatherScratch& scratch) const {
    if (plan.files.size() == 1) return field.readers[0]->gather(rows, {out});
    for (std::size_t f = 0; f < plan.files.size(); ++f) {
      const std::int64_t first = plan.files[f].first_row / field.repeat;
      const std::int64_t count = field.datasets[f].rows;
      scratch.in_file.clear();
      scratch.places.clear();
      for (std::size_t k = 0; k < rows.size(); ++k) {
        if (rows[k] < first || rows[k] >= first + count) continue;
        scratch.in_file.push_back(rows[k] - first);
        scratch.places.push_back(static_cast<std::uint32_t>(k));
      }
      if (!scratch.in_file.empty())
        field.readers[f]->gather(scratch.in_file, {out, scratch.places.data()});
    }
  }

  void gather(const detail::TableField& field, std::span<const std::int64_t> indices,
              Rows::Column out) const {
    if (field.resident() && field.repeat == 1) return gather_resident(field, indices, out);
    const auto scratch = scratches.take();
    std::span<const std::int64_t> rows = indices;
    if (field.repeat > 1) {
      scratch->rows.resize(indices.size());
      std::ranges::transform(indices, scratch->rows.begin(),
                             [&](std::int64_t index) { return index / field.repeat; });
      rows = scratch->rows;
    }
    if (field.resident()) return gather_resident(field, rows, out);
    read_rows(field, rows, out, *scratch);
  }

  void read_ragged(const detail::TableField& field, std::int64_t index, Sample& sample) const {
    std::array<std::byte, detail::HeapReference::stored_bytes> reference;
    gather(field, {&index, 1}, {reference.data(), reference.size()});
    const detail::TableFile& file = file_of(index);
    const auto number = static_cast<std::size_t>(&file - plan.files.data());
    detail::read_ragged(file, field.datasets[number], reference.data(), sample);
  }

  static void gather_resident(const detail::TableField& field, std::span<const std::int64_t> rows,
                              Rows::Column out) {
    detail::gather_rows(static_cast<const std::byte*>(field.rows.raw()), field.first().row_bytes,
                        rows, out);
  }
};

Hdf5Table::Hdf5Table(Hdf5TableOptions options) {
  auto core = std::make_unique<Core>();
  core->plan = detail::plan_table(options);
  if (const auto& chunks = core->plan.fields.front().first().chunks)
    core->chunk_rows = chunks->grid.chunk_rows();
  detail::place_fields(core->plan, options);
  core->resident_bytes = core->plan.index_bytes;
  for (const detail::TableField& field : core->plan.fields) {
    core->resident_bytes += held_bytes(field);
    core->ragged = core->ragged || field.ragged();
    core->blocking = core->blocking || field.ragged() || !field.resident();
  }
  for (detail::TableFile& file : core->plan.files) {
    file.opened.library.reset();                    // whoever reads rows through it has it
    if (!core->blocking) file.opened.file.reset();  // everything is in memory
  }
  core_ = std::move(core);
}

Hdf5Table::~Hdf5Table() = default;
Hdf5Table::Hdf5Table(Hdf5Table&&) noexcept = default;
Hdf5Table& Hdf5Table::operator=(Hdf5Table&&) noexcept = default;

std::string Hdf5Table::name() const {
  const auto& files = core_->plan.files;
  return "hdf5 " + detail::printable(files.front().path.native()) +
         (files.size() > 1 ? " and " + std::to_string(files.size() - 1) + " more" : "");
}
std::int64_t Hdf5Table::size() const {
  return core_->plan.rows;
}
bool Hdf5Table::blocking() const {
  return core_->blocking;
}
bool Hdf5Table::gathers() const {
  return !core_->ragged;
}
std::size_t Hdf5Table::resident_bytes() const {
  return core_->resident_bytes;
}
const std::vector<std::string>& Hdf5Table::notes() const noexcept {
  return core_->plan.notes;
}
const std::vector<Hdf5Attribute>& Hdf5Table::attributes() const noexcept {
  return core_->plan.attributes;
}

std::int64_t Hdf5Table::chunk_rows() const noexcept {
  return core_->chunk_rows;
}

Hdf5ChunkReads Hdf5Table::chunk_reads() const noexcept {
  Hdf5ChunkReads sum;
  for (const detail::TableField& field : core_->plan.fields) {
    for (const auto& reader : field.readers) {
      const Hdf5ChunkReads one = reader->chunk_reads();
      sum.bytes_unpacked += one.bytes_unpacked;
      sum.bytes_used += one.bytes_used;
    }
  }
  return sum;
}

Schema Hdf5Table::fields() const {
  Schema schema;
  for (const detail::TableField& field : core_->plan.fields) {
    const detail::Hdf5Dataset& dataset = field.first();
    schema.put(dataset.ragged ? FieldSpec::ragged(dataset.field, dataset.ragged->dtype,
                                                  std::max<std::int64_t>(field.longest, 1))
                              : FieldSpec::fixed(dataset.field, dataset.dtype, dataset.row));
  }
  return schema;
}

void Hdf5Table::read(std::int64_t index, Sample& sample) const {
  detail::require_index(index, size());
  for (const detail::TableField& field : core_->plan.fields) {
    const detail::Hdf5Dataset& dataset = field.first();
    if (field.ragged()) {
      core_->read_ragged(field, index, sample);
      continue;
    }
    if (field.resident()) {
      sample.set(dataset.field, field.rows.row(index / field.repeat));
      continue;
    }
    Tensor& row = sample.make(dataset.field, dataset.dtype, dataset.row);
    core_->gather(field, {&index, 1}, {static_cast<std::byte*>(row.raw()), dataset.row_bytes});
  }
}

void Hdf5Table::gather(std::span<const std::int64_t> indices, const Rows& rows) const {
  detail::require_indices(indices, size());
  const auto& fields = core_->plan.fields;
  for (std::size_t i = 0; i < fields.size(); ++i)
    core_->gather(fields[i], indices, rows[i]);
}

std::int64_t Hdf5Table::preferred_rows() const {
  if (!core_->blocking) return 0;
  constexpr std::size_t call_bytes = 4_MiB, most_rows = 4096;
  std::size_t row_bytes = 0;
  for (const detail::TableField& field : core_->plan.fields)
    row_bytes += field.first().row_bytes;
  return static_cast<std::int64_t>(std::clamp<std::size_t>(call_bytes / row_bytes, 1, most_rows));
}

std::string Hdf5Table::origin(std::int64_t index) const {
  const detail::TableFile& file = core_->file_of(index);
  const detail::TableField& field = core_->plan.fields.front();
  const detail::Hdf5Dataset& dataset =
      field.datasets[static_cast<std::size_t>(&file - core_->plan.files.data())];
  std::int64_t rest = (index - file.first_row) / field.repeat;
  std::string place;
  for (std::size_t axis = dataset.leading.size(); axis-- > 0;) {
    const std::int64_t extent = axis > 0 ? dataset.leading[axis] : rest + 1;
    place = std::to_string(rest % extent) + (place.empty() ? "" : ", ") + place;
    rest /= extent;
  }
  return detail::printable(file.path.native()) + ":" + detail::printable(dataset.path) + "[" +
         place + "]";
}

}  // namespace headrace::inline v1
