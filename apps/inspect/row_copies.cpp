#include <headrace/apps/inspect/row_copies.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/internal/in_parallel.h>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

std::uint64_t sum_of(const Tensor& tensor) {
  const std::string shape = to_string(tensor.shape());
  return hash_name({static_cast<const char*>(tensor.raw()), tensor.bytes()}) ^ hash_name(shape);
}

// The class, or a word for flags and masks.
std::string label_of(const DataPart& part, std::int64_t record) {
  Sample sample;
  part.records->read(record, sample);
  for (const char* name : {"label", "labels", "mask"}) {
    if (part.records->fields().find(name) == nullptr) continue;
    const Tensor& label = sample[name];
    const bool is_class = std::string_view(name) == "label" && !part.classes.empty();
    return is_class ? part.classes.at(static_cast<std::size_t>(*label.data<std::int64_t>()))
                    : fmt::format("{} {:08x}", name, sum_of(label) & 0xffffffffU);
  }
  return "";
}

CopyList list_of(const DataPart& part) {
  const auto number = [](std::size_t i) { return static_cast<std::int64_t>(i); };
  return {.side = part.name == "validation" ? Side::validation
                  : part.name == "test"     ? Side::test
                                            : Side::training,
          .size = static_cast<std::size_t>(part.records->size()),
          .name = [part, number](std::size_t i) { return part.records->origin(number(i)); },
          .label = [part, number](std::size_t i) { return label_of(part, number(i)); }};
}

using Rows = std::vector<std::pair<std::uint64_t, std::size_t>>;  // sum and number of each

void add_rows(Rows& rows, const DataPart& part, std::size_t before, const SurveyOptions& options) {
  const std::string field = part.records->fields()[0].name;
  std::mutex mutex;
  const auto make = [&] {
    return [&, sample = Sample()](std::size_t i) mutable {
      if (options.stop.stop_requested()) return;
      std::pair<std::uint64_t, std::size_t> row{0, before + i};
      try {
        sample.reset();
        part.records->read(static_cast<std::int64_t>(i), sample);
        row.first = sum_of(sample[field]);
      } catch (const DataError&) {
        return;
      }
      const std::lock_guard lock(mutex);
      rows.push_back(row);
      if (options.on_progress) options.on_progress(static_cast<std::int64_t>(rows.size()));
    };
  };
  headrace::detail::in_parallel(static_cast<std::size_t>(part.records->size()),
                                static_cast<std::size_t>(std::max(1, options.threads)), make);
}

}  // namespace

Copies row_copies(const std::vector<DataPart>& parts, const SurveyOptions& options) {
  Rows rows;
  std::vector<CopyList> lists;
  std::size_t before = 0;
  for (const DataPart& part : parts) {
    add_rows(rows, part, before, options);
    lists.push_back(list_of(part));
    before += lists.back().size;
  }
  if (options.stop.stop_requested()) rows.clear();
  std::ranges::sort(rows);
  Copies::Sets sets;
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    while (end < rows.size() && rows[end].first == rows[begin].first)
      ++end;
    if (end - begin == 1) continue;
    sets.emplace_back();
    for (std::size_t i = begin; i < end; ++i)
      sets.back().push_back(rows[i].second);
  }
  std::ranges::sort(sets);
  return {std::move(lists), std::move(sets)};
}

}  // namespace headrace::inline v1::app
