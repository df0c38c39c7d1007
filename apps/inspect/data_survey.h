#pragma once

#include <headrace/apps/feed/data_part.h>
#include <headrace/apps/inspect/survey.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// What the values of a field are, over all samples looked at.
struct FieldSurvey {
  /// So many different values of a field are counted one by one, and no more.
  static constexpr std::size_t most_counted = 1000;

  FieldSpec spec{};
  std::int64_t numbers = 0;     ///< values that are finite
  std::int64_t not_finite = 0;  ///< infinite, or no number
  double least = 0.0;           ///< of the finite ones
  double most = 0.0;
  double sum = 0.0;
  std::int64_t shortest = 0;  ///< elements of a sample, where they differ
  std::int64_t longest = 0;
  std::int64_t samples = 0;
  /// How many samples have which value; of integer scalars.
  std::map<std::int64_t, std::int64_t> counts{};

  double mean() const { return numbers > 0 ? sum / static_cast<double>(numbers) : 0.0; }
  /// Whether `counts` is all there is.
  bool counted() const { return !counts.empty() && counts.size() <= most_counted; }
};

/// What a part of a configuration's data holds, as its samples come to the list `augment:`.
struct DataSurvey {
  std::int64_t records = 0;  ///< looked at
  std::vector<FieldSurvey> fields{};
  std::vector<Survey::Bad> bad{};  ///< in the order of the records
};

/// Reads every record once and makes its sample.
DataSurvey survey(const DataPart& part, const SurveyOptions& options);

/// Name of a value of a counted field: that of a class where the part knows one, else the number.
std::string value_name(const DataPart& part, const FieldSurvey& field, std::int64_t value);

/// The survey as text: fields, counts, bad records.
std::string to_text(const DataSurvey& survey, const DataPart& part);

/// All parts for machines; `surveys` are those of `parts`, `copies` what was said of these.
std::string to_json(std::span<const DataSurvey> surveys, std::span<const DataPart> parts,
                    const std::vector<std::string>& copies = {});

}  // namespace headrace::inline v1::app
