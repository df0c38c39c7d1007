#pragma once

#include <headrace/apps/inspect/picture_parts.h>
#include <headrace/loaders/image/image_source.h>

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

struct SurveyOptions {
  int threads = 1;
  std::int64_t most = 0;  ///< records looked at, evenly spread; 0: all
  std::stop_token stop = {};
  std::function<void(std::int64_t done)> on_progress = {};  ///< one thread at a time
};

/// What a data set holds, every file read and decoded.
struct Survey {
  struct Bad {
    std::int64_t index = 0;
    std::string origin;
    std::string reason;
  };

  std::int64_t records = 0;  ///< looked at
  std::uint64_t bytes = 0;   ///< of the files
  std::map<std::string, std::int64_t> formats;
  std::vector<int> widths;  ///< as shown, sorted
  std::vector<int> heights;
  std::int64_t grey = 0;
  std::int64_t turned = 0;  ///< with an EXIF orientation other than 1
  std::int64_t dim = 0;     ///< of 16 bits, of which no value has more than 12
  std::int64_t masks = 0;
  std::vector<std::int64_t> class_counts;  ///< by label
  std::vector<Bad> bad;                    ///< in the order of the records
  std::vector<std::string> copies;         ///< what is to be said of copies, a sentence each
};

/// Reads and decodes records once each. A mask must have its image's size.
Survey survey(const ImageSource& source, const SurveyOptions& options);

/// Places of `count` good records of `size`, fewer where there are no more, evenly spread; `bad` is
/// in the order of the records.
std::vector<std::int64_t> good_records(const std::vector<Survey::Bad>& bad, std::int64_t size,
                                       int count);

/// The survey as text: a summary, classes, bad files.
std::string to_text(const Survey& survey, const ImageSource& source);

/// The same for machines: of one part an object, of several what was said of copies, and an array
/// of these. `surveys` are those of the first parts.
std::string to_json(std::span<const Survey> surveys, std::span<const PicturePart> parts);

}  // namespace headrace::inline v1::app
