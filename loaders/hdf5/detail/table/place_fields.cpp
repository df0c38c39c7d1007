#include <headrace/engine/base/error.h>
#include <headrace/engine/tensor/huge_pages.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/hdf5/detail/chunk/chunk_cache.h>
#include <headrace/loaders/hdf5/detail/chunk/chunk_store.h>
#include <headrace/loaders/hdf5/detail/table/table_plan.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <utility>

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

/// What is held of its chunks while they are read one by one: their places, and where they are.
std::size_t index_bytes(const TableField& field) {
  constexpr std::size_t bytes_a_chunk = sizeof(ChunkPlace) + sizeof(std::uint64_t);
  std::size_t chunks = 0;
  for (const Hdf5Dataset& dataset : field.datasets)
    if (dataset.chunks) chunks += dataset.chunks->places.size();
  return chunks * bytes_a_chunk;
}

bool any_chunked(const TableField& field) {
  return std::ranges::any_of(field.datasets,
                             [](const Hdf5Dataset& dataset) { return dataset.chunks != nullptr; });
}

/// Small ones may come on top of a small memory.
void require_indexes(const TablePlan& plan, const Hdf5TableOptions& options) {
  if (plan.index_bytes <= std::max(options.memory, 16_MiB)) return;
  throw ResourceError(table_prefix(options) + "the indexes of the chunks of " +
                      std::to_string(plan.files.size()) + " files need " +
                      std::to_string(plan.index_bytes) + " bytes, the limit is " +
                      std::to_string(options.memory) +
                      "; raise the memory of the table, or rewrite the files in larger chunks");
}

/// What of the table's memory goes where.
struct Division {
  std::vector<bool> resident;  ///< fields that are copied into memory
  std::size_t left;            ///< for the others
};

/// The smallest fields are resident, while the budget lasts and the others' indexes fit beside
/// them.
Division divide(TablePlan& plan, const Hdf5TableOptions& options) {
  Division division{std::vector<bool>(plan.fields.size(), false), options.memory};
  if (options.residence == Residence::pread) require_readable(plan, options);
  const bool none = options.residence == Residence::library ||
                    options.residence == Residence::file || options.residence == Residence::pread;
  std::vector<std::size_t> order(none ? 0 : plan.fields.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return bytes_of(plan.fields[i]); });
  const auto mapped = [&](std::size_t i) {
    return HugePages::mapped_bytes(bytes_of(plan.fields[i]));
  };
  std::vector<std::size_t> chosen;
  for (const std::size_t i : order) {
    if (options.residence == Residence::cached && any_chunked(plan.fields[i])) continue;
    if (mapped(i) > division.left) break;
    division.left -= mapped(i);
    division.resident[i] = true;
    chosen.push_back(i);
  }
  for (std::size_t i = 0; i < plan.fields.size(); ++i)
    if (!division.resident[i]) plan.index_bytes += index_bytes(plan.fields[i]);
  for (; plan.index_bytes > division.left && !chosen.empty(); chosen.pop_back()) {
    division.left += mapped(chosen.back());
    division.resident[chosen.back()] = false;
    plan.index_bytes += index_bytes(plan.fields[chosen.back()]);
  }
  require_indexes(plan, options);
  division.left -= std::min(division.left, plan.index_bytes);
  return division;
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
    field.datasets[i].chunks.reset();
  }
}

/// Datasets of one kind that share memory, and where their readers go.
template <class Part>
struct Shared {
  std::vector<Part> parts{};
  std::vector<std::unique_ptr<FieldReader>*> readers{};
  std::size_t bytes = 0;  ///< of the datasets
  std::size_t chunk = 0;  ///< the largest, as it is kept

  void add(Part part, std::unique_ptr<FieldReader>& reader) {
    bytes += part.dataset.bytes;
    chunk = std::max(chunk, HugePages::mapped_bytes(ChunkCache::stride(part.dataset.chunk_bytes)));
    parts.push_back(std::move(part));
    readers.push_back(&reader);
  }
  void put(std::vector<std::unique_ptr<FieldReader>> made) {
    for (std::size_t i = 0; i < made.size(); ++i)
      *readers[i] = std::move(made[i]);
  }
  void join(Shared other) {
    for (std::size_t i = 0; i < other.parts.size(); ++i)
      add(std::move(other.parts[i]), *other.readers[i]);
  }
};

/// In proportion to the sizes of what shares it.
std::size_t share_of(std::size_t bytes, std::size_t all, std::size_t memory) {
  const double share =
      static_cast<double>(bytes) / static_cast<double>(std::max(all, std::size_t{1}));
  return static_cast<std::size_t>(static_cast<double>(memory) * share);
}

/// Chunks of a field that are about as large have a cache of their own, of one chunk and a share of
/// the rest; where not even those chunks fit, all have one.
void make_caches(std::vector<Shared<ChunkedPart>> fields, std::size_t memory) {
  std::size_t all = 0, chunks = 0;
  for (const auto& field : fields) {
    all += field.bytes;
    chunks += field.chunk;
  }
  if (chunks > memory) {
    while (fields.size() > 1) {
      fields.front().join(std::move(fields.back()));
      fields.pop_back();
    }
    chunks = memory;
    fields.front().chunk = memory;
  }
  for (auto& field : fields)
    field.put(make_chunked_fields(std::move(field.parts),
                                  field.chunk + share_of(field.bytes, all, memory - chunks)));
}

/// Readers for everything that is not resident; they share `memory`.
void make_readers(TablePlan& plan, const Division& division, const Hdf5TableOptions& options) {
  std::vector<Shared<ChunkedPart>> chunked;
  Shared<LibraryPart> library;
  std::size_t all = 0;
  for (std::size_t i = 0; i < plan.fields.size(); ++i) {
    TableField& field = plan.fields[i];
    if (division.resident[i]) continue;
    field.readers.resize(plan.files.size());
    std::map<std::size_t, Shared<ChunkedPart>> own;  // by size: a place in a cache fits them all
    for (std::size_t f = 0; f < plan.files.size(); ++f) {
      const Hdf5Dataset& dataset = field.datasets[f];
      const auto& [file, access] = plan.files[f].opened;
      if (slow(dataset, false, options))
        library.add({access, dataset}, field.readers[f]);
      else if (dataset.chunks)
        own[std::bit_ceil(dataset.chunk_bytes)].add({file, dataset}, field.readers[f]);
      else
        field.readers[f] = make_pread_field(file, dataset);
    }
    for (auto& [size, parts] : own) {
      all += parts.bytes;
      chunked.push_back(std::move(parts));
    }
  }
  const std::size_t through_library = share_of(library.bytes, all + library.bytes, division.left);
  if (!library.parts.empty())
    library.put(make_library_fields(std::move(library.parts), through_library));
  if (!chunked.empty()) make_caches(std::move(chunked), division.left - through_library);
}

/// One line for each dataset, the same one once.
void note(TablePlan& plan, const TableField& field, bool resident,
          const Hdf5TableOptions& options) {
  std::vector<std::string> said;
  for (const Hdf5Dataset& dataset : field.datasets) {
    const std::string text = table_prefix(options) + how(dataset, resident, options);
    if (std::ranges::find(said, text) != said.end()) continue;
    said.push_back(text);
    const bool warn = slow(dataset, resident, options);
    if (options.log) options.log(warn ? LogLevel::warning : LogLevel::info, text);
  }
  plan.notes.insert(plan.notes.end(), said.begin(), said.end());
}

}  // namespace

void place_fields(TablePlan& plan, const Hdf5TableOptions& options) {
  const Division division = divide(plan, options);
  if (options.residence == Residence::resident) require_all_fit(plan, division.resident, options);
  for (const std::string& text : plan.notes)
    if (options.log) options.log(LogLevel::warning, text);
  make_readers(plan, division, options);
  for (std::size_t i = 0; i < plan.fields.size(); ++i) {
    TableField& field = plan.fields[i];
    note(plan, field, division.resident[i], options);
    if (division.resident[i]) load(plan, field);
    if (field.ragged()) field.longest = longest_row(plan, field);
  }
}

}  // namespace headrace::inline v1::detail
