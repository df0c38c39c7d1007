#include <headrace/apps/predict/prediction_text.h>
#include <headrace/apps/run/csv_table.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/printable.h>
#include <headrace/engine/base/utf8.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace headrace::inline v1::app {
namespace {

using nlohmann::ordered_json;

// The classes that `predicted` stands for: itself, or where it has a value for each class those
// that are not 0.
std::vector<std::size_t> chosen(std::span<const std::int64_t> predicted, std::size_t classes) {
  if (predicted.size() == 1 && classes != 1) return {static_cast<std::size_t>(predicted[0])};
  std::vector<std::size_t> all;
  for (std::size_t c = 0; c < predicted.size(); ++c)
    if (predicted[c] != 0) all.push_back(c);
  return all;
}

std::string dump(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

// A name in quotes, byte by byte where it is no UTF-8.
std::string dump_name(std::string_view name) {
  std::string text = "\"";
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t length = utf8_sequence(name, at);
    if (length == 0) {
      text += fmt::format("\\udc{:02x}", static_cast<unsigned char>(name[at++]));
      continue;
    }
    const std::string quoted = dump(std::string(name.substr(at, length)));
    text += quoted.substr(1, quoted.size() - 2);
    at += length;
  }
  return text + '"';
}

}  // namespace

PredictionFormat prediction_format(const std::filesystem::path& file) {
  return file.extension() == ".jsonl" ? PredictionFormat::json_lines : PredictionFormat::csv;
}

PredictionText::PredictionText(PredictionFormat format, std::int64_t classes,
                               std::vector<std::string> names)
    : format_(format), classes_(static_cast<std::size_t>(classes)), names_(std::move(names)) {
  if (!names_.empty() && names_.size() != classes_)
    throw ConfigError(
        fmt::format("[predict] there must be a name for each class, got {} names for {} classes",
                    names_.size(), classes_));
}

void PredictionText::take_reasons(const PredictedCases& cases, std::size_t count) {
  std::vector<std::string> names;
  for (const PredictedReason& reason : cases.reasons) {
    if (reason.values.size() != count)
      throw ConfigError(
          fmt::format("[predict] reason \"{}\" must have a value for each case, got {} "
                      "for {}",
                      reason.name, reason.values.size(), count));
    names.push_back(reason.name);
  }
  if (cases_ > 0 && names != reasons_)
    throw ConfigError(
        fmt::format("[predict] reasons must have the same names for all cases, got {} "
                    "and now {}: {}",
                    reasons_.size(), names.size(), fmt::join(names, ", ")));
  reasons_ = std::move(names);
}

void PredictionText::head(bool files) {
  std::vector<std::string> cells{"index"};
  if (files) cells.emplace_back("file");
  for (std::size_t c = 0; c < classes_; ++c)
    cells.push_back(names_.empty() ? fmt::format("p{}", c) : "p_" + names_[c]);
  cells.emplace_back("predicted");
  cells.insert(cells.end(), reasons_.begin(), reasons_.end());
  text_ = csv_line(cells) + '\n';
}

void PredictionText::add(const PredictedCases& cases) {
  const std::size_t count = cases.probabilities.size() / classes_;
  if (count == 0) return;
  take_reasons(cases, count);
  if (cases_ == 0 && format_ == PredictionFormat::csv) head(!cases.files.empty());
  const std::size_t each = cases.predicted.size() / count;
  for (std::size_t i = 0; i < count; ++i) {
    Row row{.probabilities = cases.probabilities.subspan(i * classes_, classes_),
            .predicted = cases.predicted.subspan(i * each, each),
            .file = cases.files.empty() ? nullptr : &cases.files[i],
            .reasons = {},
            .unread = std::ranges::binary_search(cases.unread, static_cast<std::int64_t>(i))};
    for (const PredictedReason& reason : cases.reasons)
      row.reasons.push_back(row.unread ? NAN : reason.values[i]);
    if (row.unread) {
      row.predicted = {};
    } else if (std::ranges::any_of(row.probabilities, [](float p) { return std::isnan(p); })) {
      row.predicted = {};
      if (without_class_++ == 0)
        first_without_ = row.file != nullptr ? *row.file : fmt::format("sample {}", cases_);
    }
    if (format_ == PredictionFormat::csv)
      add_csv(row);
    else
      add_json(row);
    ++cases_;
  }
}

void PredictionText::add_csv(const Row& row) {
  const auto out = std::back_inserter(text_);
  fmt::format_to(out, "{}", cases_);
  if (row.file != nullptr) fmt::format_to(out, ",{}", csv_quoted(name_of_printable(*row.file)));
  for (const float probability : row.probabilities)
    text_ += row.unread                ? ","
             : std::isnan(probability) ? ",nan"
                                       : fmt::format(",{:.6f}", probability);
  std::string classes;
  for (const std::size_t c : chosen(row.predicted, classes_))
    classes += (classes.empty() ? "" : ";") + (names_.empty() ? std::to_string(c) : names_[c]);
  fmt::format_to(out, ",{}", csv_quoted(classes));
  for (const float reason : row.reasons)
    text_ += std::isfinite(reason) ? fmt::format(",{:.6f}", reason) : ",";
  text_ += '\n';
}

void PredictionText::add_json(const Row& row) {
  text_ += fmt::format("{{\"index\":{},", cases_);
  if (row.file != nullptr) text_ += "\"file\":" + dump_name(name_of_printable(*row.file)) + ',';
  ordered_json json;
  ordered_json& values = json["probabilities"];
  for (std::size_t c = 0; c < classes_ && !row.unread; ++c) {
    if (names_.empty())
      values.push_back(row.probabilities[c]);
    else
      values[names_[c]] = row.probabilities[c];
  }
  ordered_json classes = ordered_json::array();
  for (const std::size_t c : chosen(row.predicted, classes_))
    classes.push_back(names_.empty() ? ordered_json(c) : ordered_json(names_[c]));
  json["predicted"] = row.predicted.size() == 1 && classes.size() == 1 ? classes.front() : classes;
  if (row.predicted.empty()) json["predicted"] = nullptr;
  for (std::size_t i = 0; i < reasons_.size(); ++i)
    json["reasons"][reasons_[i]] = row.reasons[i];
  text_ += dump(json).substr(1) + '\n';
}

}  // namespace headrace::inline v1::app
