#include <headrace/engine/base/error.h>
#include <headrace/engine/tensor/huge_pages.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/hdf5/detail/table/table_plan.h>

#include <algorithm>
#include <numeric>

namespace headrace::inline v1::detail {
namespace {

std::string table_prefix(const Hdf5TableOptions& options) {
  return "[hdf5] " + printable(options.file.native()) + ": ";
}

std::size_t bytes_of(const TableField& field) {
  std::size_t bytes = 0;
  for (const Hdf5Dataset& dataset : field.datasets)
    bytes += dataset.bytes;
  return bytes;
}

void require_readable(const TablePlan& plan, const Hdf5TableOptions& options) {
  for (const TableField& field : plan.fields) {
    for (const Hdf5Dataset& dataset : field.datasets) {
      if (dataset.library.empty()) continue;
      throw ConfigError(table_prefix(options) + "dataset \"" + printable(dataset.path) + "\" " +
                        dataset.library +
                        " and cannot be read past the library; choose another residence or "
                        "rewrite it with h5repack -l CONTI");
    }
  }
}

/// Which fields are copied into memory: the smallest first, while the budget lasts.
std::vector<bool> choose_resident(const TablePlan& plan, const Hdf5TableOptions& options) {
  std::vector<bool> resident(plan.fields.size(), false);
  if (options.residence == Residence::library || options.residence == Residence::file)
    return resident;
  if (options.residence == Residence::pread) {
    require_readable(plan, options);
    return resident;
  }
  std::vector<std::size_t> order(plan.fields.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return bytes_of(plan.fields[i]); });
  std::size_t left = options.memory;
  for (const std::size_t i : order) {
    if (options.residence == Residence::cached && plan.fields[i].first().chunks) continue;
    const std::size_t bytes = HugePages::mapped_bytes(bytes_of(plan.fields[i]));
    if (bytes > left) break;
    left -= bytes;
    resident[i] = true;
  }
  return resident;
}

void require_all_fit(const TablePlan& plan, const std::vector<bool>& resident,
                     const Hdf5TableOptions& options) {
  if (std::ranges::all_of(resident, [](bool fits) { return fits; })) return;
  std::string sum;
  for (const TableField& field : plan.fields)
    sum += (sum.empty() ? "" : " + ") + std::to_string(HugePages::mapped_bytes(bytes_of(field)));
  throw ResourceError(table_prefix(options) + "resident datasets need " + sum +
                      " bytes, the limit is " + std::to_string(options.memory) +
                      "; raise the memory of the table or let residence be automatic");
}

std::string how(const Hdf5Dataset& dataset, bool resident, const Hdf5TableOptions& options) {
  const std::string what = "dataset \"" + printable(dataset.path) + "\" ";
  if (dataset.ragged) return what + "is of variable length and read from the file row by row";
  const bool asked = dataset.library.empty() && options.residence == Residence::library;
  if (resident && !dataset.library.empty())
    return what + dataset.library + ": copied into memory by the library";
  if (resident) return what + (dataset.chunks ? "is decoded into memory" : "is kept in memory");
  if (!dataset.library.empty() || asked) {
    return what + (asked ? "is read as asked" : dataset.library) +
           ": its rows come through the library on one thread, which is slow; rewrite it with "
           "headrace pack table or give the table more memory";
  }
  if (dataset.chunks) return what + "is decoded chunk by chunk and kept in a cache";
  return what + "is read from the file row by row";
}

bool slow(const Hdf5Dataset& dataset, bool resident, const Hdf5TableOptions& options) {
  return !resident && !dataset.ragged &&
         (!dataset.library.empty() || options.residence == Residence::library);
}

void load(const TablePlan& plan, TableField& field) {
  std::int64_t rows = 0;
  for (const Hdf5Dataset& dataset : field.datasets)
    rows += dataset.rows;
  field.rows = huge_zeros(field.first().dtype, field.first().row.batched(rows));
  auto* to = static_cast<std::byte*>(field.rows.raw());
  for (std::size_t i = 0; i < plan.files.size(); ++i) {
    load_resident(plan.files[i].opened, field.datasets[i], to);
    to += field.datasets[i].bytes;
  }
}

/// Decoded chunks share what the resident fields leave, each in proportion to its size.
std::size_t cache_share(const Hdf5Dataset& dataset, std::size_t left, std::size_t all) {
  const double share =
      static_cast<double>(dataset.bytes) / static_cast<double>(std::max(all, std::size_t{1}));
  return static_cast<std::size_t>(static_cast<double>(left) * share);
}

}  // namespace

void place_fields(TablePlan& plan, const Hdf5TableOptions& options) {
  const std::vector<bool> resident = choose_resident(plan, options);
  if (options.residence == Residence::resident) require_all_fit(plan, resident, options);
  std::size_t left = options.memory, chunked = 0;
  for (std::size_t i = 0; i < plan.fields.size(); ++i) {
    const std::size_t bytes = bytes_of(plan.fields[i]);
    if (resident[i]) left -= HugePages::mapped_bytes(bytes);
    if (!resident[i] && plan.fields[i].first().chunks) chunked += bytes;
  }
  for (const std::string& note : plan.notes)
    if (options.log) options.log(LogLevel::warning, note);
  for (std::size_t i = 0; i < plan.fields.size(); ++i) {
    TableField& field = plan.fields[i];
    std::vector<std::string> said;
    if (resident[i]) load(plan, field);
    for (std::size_t f = 0; f < plan.files.size(); ++f) {
      const Hdf5Dataset& dataset = field.datasets[f];
      const auto& [file, access] = plan.files[f].opened;
      if (!resident[i]) {
        const bool library = slow(dataset, false, options);
        field.readers.push_back(
            library ? make_library_field(access, dataset, options.memory)
            : dataset.chunks
                ? make_chunked_field(file, dataset, cache_share(dataset, left, chunked))
                : make_pread_field(file, dataset));
      }
      const std::string note = table_prefix(options) + how(dataset, resident[i], options);
      if (std::ranges::find(said, note) != said.end()) continue;
      said.push_back(note);
      const bool warn = slow(dataset, resident[i], options);
      if (options.log) options.log(warn ? LogLevel::warning : LogLevel::info, note);
    }
    if (field.ragged()) field.longest = longest_row(plan, field);
    plan.notes.insert(plan.notes.end(), said.begin(), said.end());
  }
}

}  // namespace headrace::inline v1::detail
