#pragma once

#include <headrace/apps/config/fields.h>
#include <headrace/engine/base/error.h>

#include <string>
#include <vector>

namespace headrace::test {

/// A configuration of the type Job, whose keys `fields_of(Job&)` gives, read from text with
/// overrides as of --set; "job.yaml" in messages.
template <class Job>
struct JobFrom {
  Job operator()(const std::string& text, const std::vector<std::string>& overrides = {}) const {
    Job job;
    app::Fields fields = fields_of(job);
    app::Node document = app::parse_document(text, "job.yaml");
    for (const std::string& assignment : overrides)
      app::apply_override(document, assignment);
    fields.read(document);
    return job;
  }
};

/// What is said where that is refused, "no error" where it is not.
template <class Job>
struct ErrorOf {
  std::string operator()(const std::string& text,
                         const std::vector<std::string>& overrides = {}) const {
    try {
      JobFrom<Job>()(text, overrides);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "no error";
  }
};

}  // namespace headrace::test
