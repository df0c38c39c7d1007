#pragma once

#include <headrace/loaders/image/image_source.h>

#include <cstdint>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

struct SurveyOptions {
  int threads = 1;
  std::stop_token stop = {};
  std::function<void(std::int64_t done)> on_progress = {};  ///< One thread at a time.
};

/// What a data set holds, every file read and decoded.
struct Survey {
  struct Bad {
    std::int64_t index = 0;
    std::string origin;
    std::string reason;
  };

  std::int64_t records = 0;  ///< Looked at.
  std::uint64_t bytes = 0;   ///< Of the files.
  std::map<std::string, std::int64_t> formats;
  std::vector<int> widths;  ///< As shown, sorted.
  std::vector<int> heights;
  std::int64_t grey = 0;
  std::int64_t turned = 0;  ///< With an EXIF orientation other than 1.
  std::int64_t masks = 0;
  std::vector<std::int64_t> class_counts;  ///< By label.
  std::vector<Bad> bad;                    ///< In the order of the records.
};

/// Reads and decodes every record once. A mask must have its image's size.
Survey survey(const ImageSource& source, const SurveyOptions& options);

/// The survey as text: a summary, classes, bad files.
std::string to_text(const Survey& survey, const ImageSource& source);

/// The same for machines.
std::string to_json(const Survey& survey, const ImageSource& source);

}  // namespace headrace::inline v1::app
