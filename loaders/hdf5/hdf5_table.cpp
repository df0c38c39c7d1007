#include <headrace/loaders/hdf5/hdf5_table.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include <headrace/engine/error.h>
#include <headrace/engine/huge_pages.h>
#include <headrace/loaders/hdf5/detail/field_reader.h>
#include <headrace/loaders/memory/detail/require_index.h>

namespace headrace::inline v1 {

struct Hdf5Table::Core {
  std::string path;
  std::vector<detail::Hdf5Dataset> datasets;
  std::vector<std::unique_ptr<detail::FieldReader>> readers;  ///< as datasets
  std::vector<std::string> notes;
  std::int64_t rows = 0;
  std::size_t resident_bytes = 0;
  bool blocking = false;
};

namespace {

using detail::Hdf5Dataset;

std::string who(const Hdf5TableOptions& options) {
  return "[hdf5] " + options.file.string() + ": ";
}

std::string field_name(const Hdf5Field& field) {
  return field.name.empty() ? field.dataset.substr(field.dataset.rfind('/') + 1) : field.name;
}

void require_unlike(const std::vector<Hdf5Dataset>& datasets, const Hdf5Dataset& added,
                    const Hdf5TableOptions& options) {
  for (const Hdf5Dataset& other : datasets) {
    if (other.field == added.field) {
      throw ConfigError(who(options) + "datasets \"" + other.path + "\" and \"" + added.path +
                        "\" both want the field name \"" + added.field + "\"; name one of them");
    }
  }
  if (!datasets.empty() && datasets.front().rows != added.rows) {
    throw ConfigError(who(options) + "dataset \"" + datasets.front().path + "\" has " +
                      std::to_string(datasets.front().rows) + " rows but \"" + added.path +
                      "\" has " + std::to_string(added.rows) +
                      "; fields of one table need the same number");
  }
}

std::vector<Hdf5Dataset> describe_all(const detail::Hdf5File& file,
                                      const Hdf5TableOptions& options) {
  if (options.fields.empty()) {
    throw ConfigError(who(options) + "needs at least one dataset, got none; name the fields");
  }
  std::vector<Hdf5Dataset> datasets;
  for (const Hdf5Field& field : options.fields) {
    Hdf5Dataset dataset =
        detail::describe_dataset(file, field_name(field), field.dataset, options.memory);
    require_unlike(datasets, dataset, options);
    datasets.push_back(std::move(dataset));
  }
  return datasets;
}

void require_in_one_piece(const std::vector<Hdf5Dataset>& datasets,
                          const Hdf5TableOptions& options) {
  for (const Hdf5Dataset& dataset : datasets) {
    if (dataset.library.empty()) continue;
    throw ConfigError(who(options) + "dataset \"" + dataset.path + "\" " + dataset.library +
                      " and cannot be read by pread; choose another residence or rewrite it with "
                      "h5repack -l CONTI");
  }
}

/// Which datasets are copied into memory: the smallest first, while the budget lasts.
std::vector<bool> choose_resident(const std::vector<Hdf5Dataset>& datasets,
                                  const Hdf5TableOptions& options) {
  std::vector<bool> resident(datasets.size(), false);
  if (options.residence == Residence::library) return resident;
  if (options.residence == Residence::pread) {
    require_in_one_piece(datasets, options);
    return resident;
  }
  std::vector<std::size_t> order(datasets.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return datasets[a].bytes < datasets[b].bytes;
  });
  std::size_t left = options.memory;
  for (std::size_t i : order) {
    const std::size_t bytes = HugePages::mapped_bytes(datasets[i].bytes);
    if (bytes > left) break;
    left -= bytes;
    resident[i] = true;
  }
  return resident;
}

void require_all_fit(const std::vector<Hdf5Dataset>& datasets, const std::vector<bool>& resident,
                     const Hdf5TableOptions& options) {
  if (std::all_of(resident.begin(), resident.end(), [](bool fits) { return fits; })) return;
  std::string sum;
  for (const Hdf5Dataset& dataset : datasets) {
    sum += (sum.empty() ? "" : " + ") + std::to_string(HugePages::mapped_bytes(dataset.bytes));
  }
  throw ResourceError(who(options) + "resident datasets need " + sum + " bytes, the limit is " +
                      std::to_string(options.memory) +
                      "; raise the memory of the table or let residence be automatic");
}

struct Placed {
  std::unique_ptr<detail::FieldReader> reader;
  std::string note;
  bool slow = false;
};

Placed place(const std::shared_ptr<const detail::Hdf5File>& file, const Hdf5Dataset& dataset,
             bool resident, const Hdf5TableOptions& options) {
  const std::string what = "dataset \"" + dataset.path + "\"";
  if (resident) {
    const std::string note = dataset.library.empty()
                                 ? " is kept in memory"
                                 : " " + dataset.library + ": copied into memory by the library";
    return {detail::make_resident_field(*file, dataset), what + note, false};
  }
  if (dataset.library.empty() && options.residence != Residence::library) {
    return {detail::make_pread_field(file, dataset), what + " is read from the file row by row",
            false};
  }
  const std::string why = dataset.library.empty() ? "is read as asked" : dataset.library;
  return {detail::make_library_field(file, dataset, options.memory),
          what + " " + why +
              ": its rows come through the library on one thread, which is slow; rewrite it with "
              "h5repack -l CONTI or give the table more memory",
          true};
}

}  // namespace

Hdf5Table::Hdf5Table(Hdf5TableOptions options) {
  auto core = std::make_unique<Core>();
  const auto file = std::make_shared<const detail::Hdf5File>(options.file);
  core->path = options.file.string();
  core->datasets = describe_all(*file, options);
  core->rows = core->datasets.front().rows;
  const std::vector<bool> resident = choose_resident(core->datasets, options);
  if (options.residence == Residence::resident) {
    require_all_fit(core->datasets, resident, options);
  }
  for (std::size_t i = 0; i < core->datasets.size(); ++i) {
    Placed placed = place(file, core->datasets[i], resident[i], options);
    if (resident[i]) {
      core->resident_bytes += HugePages::mapped_bytes(core->datasets[i].bytes);
    } else {
      core->blocking = true;
    }
    const std::string note = who(options) + placed.note;
    if (options.log) options.log(placed.slow ? LogLevel::warning : LogLevel::info, note);
    core->readers.push_back(std::move(placed.reader));
    core->notes.push_back(note);
  }
  core_ = std::move(core);
}

Hdf5Table::~Hdf5Table() = default;
Hdf5Table::Hdf5Table(Hdf5Table&&) noexcept = default;
Hdf5Table& Hdf5Table::operator=(Hdf5Table&&) noexcept = default;

std::string Hdf5Table::name() const {
  return "hdf5 " + core_->path;
}
std::int64_t Hdf5Table::size() const {
  return core_->rows;
}
bool Hdf5Table::blocking() const {
  return core_->blocking;
}
std::size_t Hdf5Table::resident_bytes() const {
  return core_->resident_bytes;
}
const std::vector<std::string>& Hdf5Table::notes() const noexcept {
  return core_->notes;
}

Schema Hdf5Table::fields() const {
  Schema schema;
  for (const Hdf5Dataset& dataset : core_->datasets) {
    schema.put(FieldSpec::fixed(dataset.field, dataset.dtype, dataset.row));
  }
  return schema;
}

void Hdf5Table::read(std::int64_t index, Sample& sample) const {
  detail::require_index(index, core_->rows);
  for (std::size_t i = 0; i < core_->readers.size(); ++i) {
    const Hdf5Dataset& dataset = core_->datasets[i];
    const Tensor* resident = core_->readers[i]->resident();
    if (resident != nullptr) {
      sample.set(dataset.field, resident->row(index));
      continue;
    }
    Tensor& row = sample.make(dataset.field, dataset.dtype, dataset.row);
    core_->readers[i]->gather({&index, 1}, {static_cast<std::byte*>(row.raw()), dataset.row_bytes});
  }
}

void Hdf5Table::gather(std::span<const std::int64_t> indices, const Rows& rows) const {
  detail::require_indices(indices, core_->rows);
  for (std::size_t i = 0; i < core_->readers.size(); ++i) {
    core_->readers[i]->gather(indices, rows[i]);
  }
}

std::int64_t Hdf5Table::preferred_rows() const {
  if (!core_->blocking) return 0;
  constexpr std::size_t call_bytes = 4_MiB, most_rows = 4096;
  std::size_t row_bytes = 0;
  for (const Hdf5Dataset& dataset : core_->datasets)
    row_bytes += dataset.row_bytes;
  return static_cast<std::int64_t>(std::clamp<std::size_t>(call_bytes / row_bytes, 1, most_rows));
}

std::string Hdf5Table::origin(std::int64_t index) const {
  return core_->path + ":" + core_->datasets.front().path + "[" + std::to_string(index) + "]";
}

}  // namespace headrace::inline v1
