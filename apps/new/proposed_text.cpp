#include <headrace/apps/job/apply_preset.h>
#include <headrace/apps/job/read_job.h>
#include <headrace/apps/new/proposal.h>
#include <headrace/apps/new/propose_configuration.h>
#include <headrace/apps/run/data_log.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/nearest.h>
#include <headrace/engine/base/printable.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

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
                                                            .gpu_memory = question.gpu_memory,
                                                            .follow_links = question.follow_links});
    if (own && (question.has_list_keys() || !question.mask_folder.empty() ||
                !question.mask_suffix.empty()))
      throw ConfigError(
          "[new] options of lists and masks are of pictures, not of volumes in nnU-Net's "
          "raw layout, got " +
          question.data.string() + "; leave them out");
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

// Sets what the preset does and then the caller's own settings, and says so behind the keys.
void set_keys(const DataQuestion& question, Fields& fields, Reasons& reasons) {
  const Node proposed = fields.write();
  const auto read = [&](const std::vector<std::string>& settings) {
    Node document = proposed;
    for (const std::string& setting : settings)
      apply_override(document, setting);
    fields.read(document);
    return fields.to_yaml();
  };
  std::vector<std::string> settings;
  if (!question.preset.empty()) {
    const AppliedPreset applied = apply_preset(question.preset, this_machine(), read);
    settings = applied.settings;
    for (const PresetChange& change : applied.changes)
      if (change.left_out.empty())
        reasons[change.key] = fmt::format("preset {}: {}", question.preset, change.why);
    fmt::print(stderr, "{}", preset_text(applied));
  }
  for (const std::string& setting : question.settings) {
    settings.push_back(setting);
    reasons[setting.substr(0, setting.find('='))] = "--set";
  }
  if (!settings.empty()) static_cast<void>(read(settings));
}

// At how many records that cannot be read a training would end.
void require_few_bad(const BadSampleSettings& rule, const BadRecords& bad) {
  double most = rule.most_share * static_cast<double>(bad.of);
  if (rule.most > 0) most = std::min(most, static_cast<double>(rule.most));
  if (rule.rule == BadSamples::Rule::fail) most = 0.0;
  if (static_cast<double>(bad.count) <= most) return;
  throw DataError(fmt::format(
      "[data] at most {:.0f} of the {} records that were looked at may be bad "
      "(data.bad_samples), {} cannot be read, the first {}; mend them, or take them out",
      std::floor(most), bad.of, bad.count, bad.first));
}

// What a training would refuse is refused before anything is written. Gives what is said of the
// data meanwhile.
std::vector<std::string> checked(const std::vector<Job>& jobs, const std::string& yaml,
                                 const DataQuestion& question, const BadRecords& bad) {
  std::vector<std::string> said;
  const DataLogGuard listen([&](LogLevel level, std::string_view line) {
    if (line.starts_with("[data]"))
      said.emplace_back(line);
    else if (level != LogLevel::info)
      fmt::print(stderr, "{}\n", line);
  });
  const auto why = [](const Error& error) {
    return fmt::format(
        "{}\n  so a configuration for these data cannot be trained, and none is "
        "written; change the data, or a key of it (--set KEY=VALUE)",
        error.what());
  };
  try {
    const std::string source = "configuration for " + question.data.string();
    const TrainingJob read = read_training_text(jobs, yaml, source);
    require_few_bad(read.config->bad_samples, bad);
    read.config->check_data();
  } catch (const ConfigError& error) {
    throw ConfigError(why(error));
  } catch (const DataError& error) {
    throw DataError(why(error));
  }
  return said;
}

}  // namespace

ProposedText propose_configuration(const std::vector<Job>& jobs, std::string_view kind,
                                   DataQuestion question, const SurveyOptions& options) {
  const Job& job = proposing_job(jobs, kind);
  question.masks = job.masks;
  Proposal proposal = proposal_of(job, question, options);
  Fields fields;
  proposal.config->describe_keys(fields);
  set_keys(question, fields, proposal.reasons);
  const std::string keys = fmt::format("kind: {}\n{}", job.name, fields.to_yaml(proposal.reasons));
  if (question.check)
    for (std::string& line : checked(jobs, keys, question, proposal.bad))
      proposal.lines.push_back(std::move(line));
  ProposedText made{.yaml = fmt::format("# {}: {}\n#\n", job.name, job.help)};
  for (const std::string& line : proposal.lines)
    made.lines.push_back(printable(line));
  for (const std::string& line : made.lines)
    made.yaml += "# " + line + '\n';
  made.yaml += fmt::format("#\n# headrace train FILE.yaml; every key: headrace config {}\n\n{}",
                           job.name, keys);
  return made;
}

}  // namespace headrace::inline v1::app
