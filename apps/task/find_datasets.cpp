#include <headrace/apps/task/data_set.h>
#include <headrace/apps/task/find_datasets.h>
#include <headrace/apps/task/group_columns.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/printable.h>
#include <headrace/loaders/hdf5/hdf5_datasets.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

using Facts = Hdf5DatasetFacts;
using Names = std::span<const std::string_view>;

constexpr std::string_view between_words = "_-/";

// The words of a name, one by one, until `look` is true of one.
bool any_word(std::string_view name, const auto& look) {
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find_first_of(between_words, begin), name.size());
    if (look(name.substr(begin, end - begin))) return true;
    begin = end + 1;
  }
  return false;
}

// What it is called, without the word of its part: "x" of /x_train.
std::string word_of(const Facts& one) {
  const std::string own = one.path.substr(one.path.rfind('/') + 1);
  std::string rest;
  any_word(own, [&](std::string_view word) {
    if (!split_named(word)) rest += (rest.empty() ? "" : "_") + std::string(word);
    return false;
  });
  return rest.empty() ? own : rest;
}

std::optional<std::size_t> rank_of(const std::string& word, Names names) {
  const auto found = std::ranges::find(names, lower_case(word));
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

auto among(Names names) {
  return [names](const std::string& word) { return rank_of(word, names); };
}

// The one whose name has the first rank; null where none has such a name.
const Facts* called(const std::vector<Facts>& all, const auto& rank, const auto& fits) {
  const Facts* best = nullptr;
  for (const Facts& one : all)
    if (const auto place = rank(word_of(one)); place && fits(one))
      if (best == nullptr || *place < *rank(word_of(*best))) best = &one;
  return best;
}

bool is_whole(const Facts& one) {
  return one.text || (one.dtype != DType::float16 && one.dtype != DType::bfloat16 &&
                      one.dtype != DType::float32 && one.dtype != DType::float64);
}

std::string why_no_data(const Facts& one) {
  const int rank = one.shape.rank();
  if (!one.fault.empty()) return one.fault;
  if (one.text) return "strings are no records";
  if (one.ragged) return "records must have one length";
  if (one.shape.elements() == 0) return "holds nothing";
  if (rank < 2) return "records must be [records, values] or more";
  return rank > 4 ? "records must be at most [records, channels, bins, frames]" : "";
}

// What MATLAB wrote may count records along its last axis.
bool has_rows(const Facts& one, std::int64_t rows) {
  const Shape& shape = one.shape;
  return shape[0] == rows || (!one.matlab.empty() && shape[shape.rank() - 1] == rows);
}

bool has_as_many(const Facts& one, const Facts& data) {
  const Shape& shape = data.shape;
  return has_rows(one, shape[0]) ||
         (!data.matlab.empty() && has_rows(one, shape[shape.rank() - 1]));
}

// A column, or of MATLAB a row.
bool is_vector(const Facts& one) {
  const Shape& shape = one.shape;
  return shape.rank() == 1 ||
         (shape.rank() == 2 && (shape[1] == 1 || (!one.matlab.empty() && shape[0] == 1)));
}

// Whether it may stand beside the records.
std::string why_not_beside(const Facts& one, const Facts& data) {
  if (!one.fault.empty()) return one.fault;
  if (&one == &data) return "the records";
  const std::int64_t rows = data.shape[0];
  const bool fits = one.shape.rank() >= 1 && one.shape.rank() <= 2 && has_as_many(one, data);
  if (one.text && (!fits || (one.matlab.empty() && !is_vector(one))))
    return fmt::format("labels must be [{}]", rows);
  if (!fits || (one.ragged && !one.text))
    return fmt::format("labels must be [{}] or flags [{}, classes]", rows, rows);
  return {};
}

std::string why_no_labels(const Facts& one, const Facts& data, const Facts* groups) {
  if (&one == groups) return "groups";
  const std::string why = why_not_beside(one, data);
  if (!why.empty() || (is_whole(one) && !one.text)) return why;
  return fmt::format("{} are labels only where they are called so",
                     one.text ? "strings" : "fractions");
}

// "/x: float32 [84, 16]: the records; /y: float64 [1, 84]: labels must be [84]", the first of them.
std::string reasons(const std::vector<Facts>& all, const auto& why) {
  constexpr std::size_t most = 12;
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i == most) return text + fmt::format("; and {} more", all.size() - i);
    const Facts& one = all[i];
    text += fmt::format("{}{}: {}", i == 0 ? "" : "; ", printable(one.path, 200), to_string(one));
    if (one.fault.empty()) text += ": " + why(one);
  }
  return text.empty() ? "none" : text;
}

// Cells of MATLAB lie in groups of names that nobody gives.
std::vector<Facts> datasets_of(const std::filesystem::path& file) {
  std::vector<Facts> all = hdf5_dataset_facts(file);
  std::erase_if(all, [](const Facts& one) { return one.path.starts_with("/#"); });
  return all;
}

// The records; null where none can be.
const Facts* data_among(const std::vector<Facts>& all) {
  const auto fits = [](const Facts& one) { return why_no_data(one).empty(); };
  const Facts* data = called(all, among(data_names), fits);
  const auto bytes = [](const Facts& one) {
    return static_cast<std::size_t>(one.shape.elements()) * size_of(one.dtype);
  };
  if (data != nullptr) return data;
  for (const Facts& one : all)
    if (fits(one) && !is_called(word_of(one), label_names) && !group_rank(word_of(one)) &&
        (data == nullptr || bytes(one) > bytes(*data)))
      data = &one;
  return data;
}

[[noreturn]] void refuse_data(const std::filesystem::path& file, const std::vector<Facts>& all) {
  const std::string text = fmt::format(
      "[data] {}: must have a dataset of records, [records, values], [records, bins, frames] or "
      "[records, channels, bins, frames], a row a record; it has {}; write one",
      file.string(), reasons(all, [](const Facts& one) {
        const std::string why = why_no_data(one);
        return why.empty() ? "called as labels or groups are" : why;
      }));
  const bool broken = std::ranges::any_of(all, [](const Facts& one) { return !one.fault.empty(); });
  if (broken) throw DataError(text);
  throw ConfigError(text);
}

// What stands beside the records.
FoundDatasets beside(const Facts& data, const std::vector<Facts>& all) {
  const auto fits = [&](const Facts& one) { return why_not_beside(one, data).empty(); };
  const Facts* groups = called(all, group_rank, [&](const Facts& one) {
    return fits(one) && is_vector(one) && is_whole(one);
  });
  const Facts* labels = called(all, among(label_names), fits);
  for (const Facts& one : all)
    if (labels == nullptr && why_no_labels(one, data, groups).empty()) labels = &one;
  FoundDatasets found{.data = data.path};
  if (groups != nullptr) found.groups = groups->path;
  if (labels == nullptr) {
    found.reasons =
        reasons(all, [&](const Facts& one) { return why_no_labels(one, data, groups); });
    return found;
  }
  found.labels = labels->path;
  found.flags = !labels->text && !is_vector(*labels);
  return found;
}

using Part = std::optional<DataSplit>;

// Among those whose paths say what is wanted; nothing without labels.
std::optional<FoundDatasets> of_parts(std::vector<Facts> all, const auto& wanted) {
  std::erase_if(all, [&](const Facts& one) { return !wanted(split_in_name(one.path)); });
  const Facts* data = data_among(all);
  if (data == nullptr) return std::nullopt;
  FoundDatasets found = beside(*data, all);
  return found.labels.empty() ? std::nullopt : std::optional(std::move(found));
}

FoundDatasets to_train_on(const std::filesystem::path& file, const std::vector<Facts>& all) {
  if (auto said = of_parts(all, [](Part part) { return part == DataSplit::train; })) return *said;
  if (auto open = of_parts(all, [](Part part) { return !part || part == DataSplit::train; }))
    return *open;
  const Facts* data = data_among(all);
  if (data == nullptr) refuse_data(file, all);
  return beside(*data, all);
}

}  // namespace

bool is_called(const std::string& word, Names names) {
  return rank_of(word, names).has_value();
}

bool is_hdf5(const std::filesystem::path& file) {
  const std::string extension = lower_case(file.extension().native());
  return extension == ".h5" || extension == ".hdf5" || extension == ".hdf" || extension == ".mat";
}

FoundFile find_datasets(const std::filesystem::path& file) {
  const std::vector<Facts> all = datasets_of(file);
  FoundFile found{.train = to_train_on(file, all)};
  const auto part = [&](DataSplit split) {
    auto datasets = of_parts(all, [&](Part said) { return said == split; });
    if (datasets && datasets->data == found.train.data) datasets.reset();
    return datasets;
  };
  found.validation = part(DataSplit::validation);
  found.test = part(DataSplit::test);
  const auto has = [](const FoundDatasets& one, const std::string& path) {
    return path == one.data || path == one.labels || path == one.groups;
  };
  for (const Facts& one : all)
    if (!has(found.train, one.path) && !(found.validation && has(*found.validation, one.path)) &&
        !(found.test && has(*found.test, one.path)))
      found.others.push_back(printable(one.path, 100) + ' ' + to_string(one));
  return found;
}

std::optional<DataSplit> split_in_name(std::string_view name) {
  std::optional<DataSplit> found;
  any_word(name, [&](std::string_view word) {
    found = split_named(word);
    return found.has_value();
  });
  return found;
}

}  // namespace headrace::inline v1::app
