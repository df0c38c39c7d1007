#include <headrace/apps/run/data_log.h>
#include <headrace/apps/task/duplicates.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/file/file_identity.h>
#include <headrace/loaders/listing/internal/find_copies.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

std::string path_of(const RecordFile& file) {
  return std::string(file.root) + '/' + std::string(file.path);
}

// Classes by name; a mask by its bytes.
std::string label_of(const LabelledSource& source, std::int64_t record) {
  if (const RecordFile mask = source.mask_file(record); !mask.path.empty()) {
    try {
      return fmt::format("mask {:08x}", headrace::detail::content_sum(path_of(mask)) & 0xffffffffU);
    } catch (const Error&) {
      return "";  // whoever reads it says why
    }
  }
  std::string label;
  for (const std::int64_t one : source.label_set(record))
    label += (label.empty() ? "" : ", ") + source.classes()[static_cast<std::size_t>(one)];
  return label;
}

fs::path kept_in(const fs::path& listings, const std::vector<CopyList>& lists) {
  if (listings.empty()) return {};
  std::string places;
  for (const CopyList& list : lists)
    places += list.place + '\n';
  return listings / fmt::format("{:016x}.sums", hash_name(places));
}

const char* name_of(Side side) {
  return side == Side::training ? "training" : side == Side::validation ? "validation" : "test";
}

std::vector<Side> sides_of(const std::vector<DataSplit>& splits) {
  std::vector<Side> sides;
  sides.reserve(splits.size());
  for (const DataSplit split : splits)
    sides.push_back(split == DataSplit::train        ? Side::training
                    : split == DataSplit::validation ? Side::validation
                                                     : Side::test);
  return sides;
}

std::string copies_of(std::size_t count) {
  return count == 1 ? "[data] 1 record is a copy of another"
                    : fmt::format("[data] {} records are copies of others", count);
}

}  // namespace

void describe(Fields& fields, DuplicateSettings& duplicates) {
  using enum Duplicates;
  fields.choice("duplicates", duplicates.rule,
                {{"group", group}, {"error", error}, {"allow", allow}},
                {.doc = "files with the same bytes: group: a random division keeps them on one "
                        "side, and a warning names those in two parts that are given; error: there "
                        "may be none; allow: they are not looked for"});
  fields.key("duplicates_within", duplicates.within,
             {.doc = "most that looking for them may take, by a forecast; above it is left and "
                     "said; 0: as long as it takes",
              .unit = "minutes",
              .min = 0.0,
              .used_if = [&duplicates] { return duplicates.rule != Duplicates::allow; },
              .used_when = "data.duplicates is group or error"});
}

CopyList copy_list(Side side, std::shared_ptr<const LabelledSource> source) {
  const auto number = [](std::size_t i) { return static_cast<std::int64_t>(i); };
  return {.side = side,
          .place = source->name(),
          .sides = sides_of(source->splits()),
          .size = static_cast<std::size_t>(source->size()),
          .bytes = [source, number](std::size_t i) { return source->file(number(i)).bytes; },
          .files =
              [source, number](std::size_t i) {
                return std::vector<std::string>{path_of(source->file(number(i)))};
              },
          .name = [source, number](std::size_t i) { return source->origin(number(i)); },
          .label = [source, number](std::size_t i) { return label_of(*source, number(i)); }};
}

Copies::Copies(std::vector<CopyList> lists, const DuplicateSettings& settings,
               const fs::path& listings, std::stop_token stop)
    : lists_(std::move(lists)), settings_(settings) {
  if (settings.rule == Duplicates::allow) return;
  std::size_t records = 0;
  for (const CopyList& list : lists_)
    records += list.size;
  headrace::detail::FoundCopies found = headrace::detail::find_copies(
      {.records = records,
       .bytes =
           [this](std::size_t i) {
             const Place at = place_of(i);
             return at.list.bytes(at.record);
           },
       .files =
           [this](std::size_t i) {
             const Place at = place_of(i);
             return at.list.files(at.record);
           },
       .kept = kept_in(listings, lists_),
       .most_seconds = settings.within * 60.0,
       .on_long =
           [](double seconds) {
             log_data(headrace::LogLevel::info,
                      fmt::format("[data] looking for copies takes about {:.0f} s", seconds));
           },
       .stop = std::move(stop)});
  sets_ = std::move(found.sets);
  compared_ = found.compared;
  forecast_s_ = found.forecast_s;
}

Copies::Copies(std::vector<CopyList> lists, Sets sets)
    : lists_(std::move(lists)), sets_(std::move(sets)) {}

// A record in its own list.
Copies::Place Copies::place_of(std::size_t record) const {
  std::size_t list = 0;
  while (record >= lists_[list].size)
    record -= lists_[list++].size;
  return {.list = lists_[list], .record = record};
}

std::vector<std::pair<std::int64_t, std::int64_t>> Copies::pairs() const {
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (const auto& set : sets_)
    for (std::size_t i = 1; i < set.size() && set[i] < lists_.front().size; ++i)
      pairs.emplace_back(static_cast<std::int64_t>(set[0]), static_cast<std::int64_t>(set[i]));
  return pairs;
}

std::string Copies::digest() const {
  std::string numbers;
  for (const auto& [one, other] : pairs())
    numbers += fmt::format("{} {}\n", one, other);
  return numbers.empty() ? numbers : fmt::format("{:016x}", hash_name(numbers));
}

std::string Copies::said(std::size_t record, const std::vector<Side>& sides) const {
  std::string side;
  if (!sides.empty()) side = std::string(" (") + name_of(sides[record]) + ')';
  const Place at = place_of(record);
  return at.list.name(at.record) + side;
}

std::vector<Side> Copies::sides() const {
  std::vector<Side> sides;
  for (const CopyList& list : lists_) {
    sides.insert(sides.end(), list.sides.begin(), list.sides.end());
    if (list.sides.empty()) sides.insert(sides.end(), list.size, list.side);
  }
  return sides;
}

// Records of later sides whose copy is on an earlier one.
Copies::Told Copies::across(const std::vector<Side>& sides) const {
  Told told;
  for (const auto& set : sets_) {
    const auto first = std::ranges::min_element(
        set, {}, [&](std::size_t record) { return static_cast<int>(sides[record]); });
    for (const std::size_t record : set) {
      if (sides[record] == sides[*first]) continue;
      if (told.count++ == 0) told.example = said(record, sides) + " is " + said(*first, sides);
    }
  }
  return told;
}

Copies::Told Copies::beside(const std::vector<Side>& sides) const {
  Told told;
  for (const auto& set : sets_) {
    std::array<const std::size_t*, 3> first{};
    for (const std::size_t& record : set) {
      const std::size_t*& other = first[static_cast<std::size_t>(sides[record])];
      if (other != nullptr && told.count++ == 0)
        told.example = said(record, {}) + " is " + said(*other, {});
      if (other == nullptr) other = &record;
    }
  }
  return told;
}

Copies::Told Copies::labelled_otherwise() const {
  const auto label = [this](std::size_t record) {
    const Place at = place_of(record);
    return at.list.label ? at.list.label(at.record) : std::string();
  };
  Told told;
  for (const auto& set : sets_) {
    const std::string first = label(set.front());
    for (const std::size_t record : set) {
      const std::string own = label(record);
      if (own == first) continue;
      if (told.count++ == 0)
        told.example =
            fmt::format("{} is {}, {} is {}", said(set.front(), {}), first, said(record, {}), own);
    }
  }
  return told;
}

std::vector<Copies::Line> Copies::lines() const {
  std::vector<Line> lines;
  if (forecast_s_ > 0.0) {
    lines.emplace_back(
        headrace::LogLevel::warning,
        fmt::format(
            "[data] copies were not looked for: {} records of a size that others have would "
            "take about {} minutes; set data.duplicates_within to that or to 0, or look "
            "once with headrace inspect --duplicates",
            compared_, std::ceil(forecast_s_ / 60.0)));
  }
  if (sets_.empty()) return lines;
  const auto add = [&lines](headrace::LogLevel level, const Told& told, const char* which) {
    if (told.count > 0) lines.emplace_back(level, copies_of(told.count) + which + told.example);
  };
  add(headrace::LogLevel::warning, across(sides()), " on another side: ");
  add(headrace::LogLevel::warning, labelled_otherwise(), " with another label: ");
  add(headrace::LogLevel::info, beside(sides()), ": ");
  return lines;
}

void Copies::tell() const {
  for (const auto& [level, line] : lines()) {
    if (sets_.empty() && settings_.rule == Duplicates::error) throw DataError(line);
    if (sets_.empty()) {
      log_data(level, line);
    } else if (settings_.rule == Duplicates::error) {
      throw DataError(line + "; list each record once, or set data.duplicates: group");
    } else if (level == headrace::LogLevel::info) {
      log_data(level, line + "; a random division keeps them on one side");
    } else {
      log_data(level, line +
                          "; list each once, or set data.duplicates: error to refuse them, allow "
                          "to say nothing");
    }
  }
}

}  // namespace headrace::inline v1::app
