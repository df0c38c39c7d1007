#include <headrace/apps/inspect/propose.h>
#include <headrace/apps/jobs/proposal.h>
#include <headrace/apps/jobs/read_job.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/nearest.h>
#include <headrace/engine/base/printable.h>

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace::inline v1::app {
namespace {

const Job& proposing_job(const std::vector<Job>& jobs, std::string_view kind) {
  std::vector<std::string> names;
  for (const Job& job : jobs) {
    if (!job.propose) continue;
    if (job.name == kind) return job;
    names.push_back(job.name);
  }
  const auto meant = nearest_name(kind, names);
  throw ConfigError(fmt::format("[new] the kind must be one of {}, got \"{}\"{}",
                                fmt::join(names, ", "), kind,
                                meant ? fmt::format("; did you mean {}?", *meant) : ""));
}

}  // namespace

std::string propose_configuration(const std::vector<Job>& jobs, std::string_view kind,
                                  DataQuestion question, const SurveyOptions& options) {
  const Job& job = proposing_job(jobs, kind);
  question.masks = job.masks;
  const DataFacts facts = look_at_data(question, options);
  const Proposal proposal = job.propose(facts);
  std::string text = fmt::format("# {}: {}\n#\n", job.name, job.help);
  for (const std::string& line : describe(facts))
    text += "# " + printable(line) + '\n';
  Fields fields;
  proposal.config->describe_keys(fields);
  return text +
         fmt::format(
             "#\n# headrace train FILE.yaml; every key: headrace config {}\n\n"
             "kind: {}\n",
             job.name, job.name) +
         fields.to_yaml(proposal.reasons);
}

}  // namespace headrace::inline v1::app
