#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/listing/detail/manifest_files.h>
#include <headrace/loaders/listing/detail/value_collector.h>
#include <headrace/loaders/listing/internal/manifest.h>

#include <algorithm>
#include <numeric>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

namespace headrace::inline v1::detail {
namespace {

namespace fs = std::filesystem;

std::size_t half_of_memory() {
  return static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) / 2 *
         static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

void read_rows(const ManifestRequest& request, ManifestText& text, const ManifestTaker& taker) {
  const std::string extension = fs::path(request.file).extension().native();
  if (extension == ".csv") return read_csv_manifest(text, ',', request, taker);
  if (extension == ".tsv") return read_csv_manifest(text, '\t', request, taker);
  if (extension == ".jsonl") return read_jsonl_manifest(text, request, taker);
  throw ConfigError("[manifest] " + printable(request.file) +
                    ": must be called .csv, .tsv or .jsonl");
}

[[noreturn]] void refuse_list(const std::string& file, std::int64_t line, std::size_t bytes) {
  throw ResourceError("[manifest] " + printable(file) + ":" + std::to_string(line) +
                      ": the list of files up to here takes " + std::to_string(bytes >> 20) +
                      " MiB, more than it may; divide the manifest");
}

/// What is trained on must not be tested on.
void check_splits(const Manifest& manifest, const std::string& file) {
  const std::vector<DataSplit>& splits = manifest.values.splits;
  std::vector<std::size_t> order(splits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto path = [&manifest](std::size_t i) { return manifest.files.path(i); };
  std::ranges::sort(order, {}, path);
  for (std::size_t i = 1; i < order.size(); ++i) {
    const DataSplit a = splits[order[i - 1]];
    const DataSplit b = splits[order[i]];
    if (a == b || path(order[i - 1]) != path(order[i])) continue;
    throw ConfigError("[manifest] " + printable(file) + ": " + printable(path(order[i])) +
                      " must be in one split, got " + std::string(name_of(std::min(a, b))) +
                      " and " + std::string(name_of(std::max(a, b))));
  }
}

}  // namespace

Manifest read_manifest(const ManifestRequest& request) {
  ManifestText text(request.file);
  const std::size_t most = request.memory != 0 ? request.memory : half_of_memory();
  Manifest manifest;
  ManifestFiles files(request.file, request.root);
  ValueCollector values(request);
  ManifestColumns found;
  const auto begin = [&](const ManifestColumns& columns) {
    found = columns;
    values.begin(columns);
  };
  const auto take = [&](const ManifestRow& row) {
    files.add(manifest.files, found.path, row.path, row.line);
    if (!found.mask.empty()) files.add(manifest.masks, found.mask, row.mask, row.line);
    values.take(row);
    if (manifest.files.size() % 1024 != 0) return;
    const std::size_t taken = manifest.files.memory() + manifest.masks.memory() + values.memory();
    if (taken > most) refuse_list(request.file, row.line, taken);
  };
  read_rows(request, text, {.begin = begin, .take = take});
  if (manifest.files.size() == 0) refuse_line(request.file, 1, "must list a file, got none");
  manifest.files.root = request.root;
  if (!found.mask.empty()) manifest.masks.root = request.root;
  manifest.values = values.finish();
  check_splits(manifest, request.file);
  manifest.bytes = text.bytes();
  manifest.changed_ns = text.changed_ns();
  manifest.checksum = text.checksum();
  return manifest;
}

std::string canonical_manifest(const fs::path& file) {
  std::error_code error;
  const fs::path path = fs::canonical(file, error);
  if (error || !fs::is_regular_file(path))
    throw ConfigError("[manifest] " + printable(file.native()) + ": must be a file of rows");
  return path.native();
}

}  // namespace headrace::inline v1::detail
