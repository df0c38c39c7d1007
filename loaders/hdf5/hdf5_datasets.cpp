#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/hdf5/hdf5_datasets.h>
#include <headrace/loaders/hdf5/internal/library_access.h>

#include <span>
#include <utility>

namespace headrace::inline v1 {
namespace {

using detail::printable;

/// The reason alone: without file and dataset before it and the way out behind.
std::string reason_of(const DataError& error, const std::string& path) {
  const std::string text = error.what();
  const std::string before = "dataset \"" + printable(path) + "\" ";
  const std::size_t at = text.find(before);
  const std::size_t first = at == std::string::npos ? 0 : at + before.size();
  return text.substr(first, text.find(';', first) - first);
}

void describe(detail::LibraryAccess& library, Hdf5DatasetFacts& facts) {
  for (const Hdf5Attribute& attribute :
       library.attributes({.names = {"MATLAB_class"}, .objects = {facts.path}}))
    facts.matlab = attribute.text;
  const detail::Hdf5Dataset dataset = library.describe({.field = "values",
                                                        .path = facts.path,
                                                        .axes = Shape::max_rank,
                                                        .all_axes = true,
                                                        .memory = Hdf5TableOptions().memory});
  std::vector<std::int64_t> extents = dataset.leading;
  const auto row = dataset.row.extents();
  const std::size_t bytes = dataset.text || dataset.ragged ? 1 : 0;
  extents.insert(extents.end(), row.begin(), row.end() - static_cast<std::ptrdiff_t>(bytes));
  facts.dtype = dataset.ragged ? dataset.ragged->dtype : dataset.dtype;
  facts.shape = Shape(std::span<const std::int64_t>(extents));
  if (dataset.text) facts.matlab.clear();  // whose texts are numbers
  facts.text = dataset.text || facts.matlab == "char";
  facts.ragged = dataset.ragged.has_value();
}

}  // namespace

std::vector<std::string> hdf5_datasets(const std::filesystem::path& path) {
  return detail::open_hdf5(path, {}, false).library->all_datasets();
}

std::vector<Hdf5DatasetFacts> hdf5_dataset_facts(const std::filesystem::path& file,
                                                 const std::vector<std::string>& paths) {
  const detail::OpenedFile opened = detail::open_hdf5(file, {}, true);
  std::vector<Hdf5DatasetFacts> all;
  for (const std::string& path : paths.empty() ? opened.library->all_datasets() : paths) {
    Hdf5DatasetFacts& facts = all.emplace_back(Hdf5DatasetFacts{.path = path});
    try {
      describe(*opened.library, facts);
    } catch (const DataError& error) {
      facts.fault = reason_of(error, path);
      if (facts.matlab == "cell")
        facts.fault = "is a cell array of MATLAB; char(...) or numbers can be read";
    }
  }
  return all;
}

std::string to_string(const Hdf5DatasetFacts& facts) {
  if (!facts.fault.empty()) return facts.fault;
  const std::string values = facts.text     ? facts.matlab.empty() ? "strings" : "chars of MATLAB"
                             : facts.ragged ? "sequences of " + std::string(name_of(facts.dtype))
                                            : std::string(name_of(facts.dtype));
  return values + " " + to_string(facts.shape);
}

}  // namespace headrace::inline v1
