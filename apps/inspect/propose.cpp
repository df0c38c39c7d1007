#include <headrace/apps/inspect/propose.h>
#include <headrace/apps/jobs/apply_preset.h>
#include <headrace/apps/jobs/proposal.h>
#include <headrace/apps/jobs/read_job.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/nearest.h>
#include <headrace/engine/base/printable.h>

#include <cstdio>
#include <optional>
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

Proposal proposal_of(const Job& job, const DataQuestion& question, const SurveyOptions& options) {
  if (job.propose_folder) {
    const std::optional<Proposal> own = job.propose_folder({.data = question.data,
                                                            .threads = options.threads,
                                                            .gpu = has_gpu(),
                                                            .gpu_memory = question.gpu_memory});
    if (own) return *own;
  }
  if (question.gpu_memory)
    throw ConfigError("[new] --gpu-memory is of volumes in nnU-Net's raw layout, got " +
                      question.data.string() + "; leave it out");
  const DataFacts facts = look_at_data(question, options);
  Proposal proposal = job.propose(facts);
  proposal.lines = describe(facts);
  return proposal;
}

// Sets what the preset does, and says so behind the keys.
void set_preset(const std::string& name, Fields& fields, Reasons& reasons) {
  const Node proposed = fields.write();
  const auto read = [&](const std::vector<std::string>& settings) {
    Node document = proposed;
    for (const std::string& setting : settings)
      apply_override(document, setting);
    fields.read(document);
    return fields.to_yaml();
  };
  const AppliedPreset applied = apply_preset(name, this_machine(), read);
  static_cast<void>(read(applied.settings));
  for (const PresetChange& change : applied.changes)
    if (change.left_out.empty())
      reasons[change.key] = fmt::format("preset {}: {}", name, change.why);
  fmt::print(stderr, "{}", preset_text(applied));
}

}  // namespace

std::string propose_configuration(const std::vector<Job>& jobs, std::string_view kind,
                                  DataQuestion question, const SurveyOptions& options) {
  const Job& job = proposing_job(jobs, kind);
  question.masks = job.masks;
  Proposal proposal = proposal_of(job, question, options);
  std::string text = fmt::format("# {}: {}\n#\n", job.name, job.help);
  for (const std::string& line : proposal.lines)
    text += "# " + printable(line) + '\n';
  Fields fields;
  proposal.config->describe_keys(fields);
  if (!question.preset.empty()) set_preset(question.preset, fields, proposal.reasons);
  return text +
         fmt::format(
             "#\n# headrace train FILE.yaml; every key: headrace config {}\n\n"
             "kind: {}\n",
             job.name, job.name) +
         fields.to_yaml(proposal.reasons);
}

}  // namespace headrace::inline v1::app
