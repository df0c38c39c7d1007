#include <headrace/apps/feed/loader_data.h>
#include <headrace/apps/feed/make_loader_job.h>
#include <headrace/apps/job/read_job.h>
#include <headrace/apps/job/run_identity.h>
#include <headrace/apps/job/stage_documents.h>

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

std::vector<std::string> names_of(const std::vector<Job>& jobs) {
  std::vector<std::string> names;
  names.reserve(jobs.size() + 1);
  for (const Job& job : jobs)
    names.push_back(job.name);
  return names;
}

std::vector<std::string> all_kinds(const std::vector<Job>& jobs) {
  std::vector<std::string> kinds = names_of(jobs);
  kinds.emplace_back(loader_kind);
  return kinds;
}

// "a", "a or b", "a, b or c", each word between `before` and `behind`.
std::string one_of(const std::vector<std::string>& words, std::string_view before = "",
                   std::string_view behind = "") {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += fmt::format("{}{}{}", before, words[i], behind);
  }
  return text;
}

Node with_settings(Node document, const std::vector<std::string>& settings) {
  for (const std::string& setting : settings)
    apply_override(document, setting);
  return document;
}

// The rest of the keys depends on this one, so it is looked at first. Null: a loader alone.
const Job* job_of(const std::vector<Job>& jobs, const Node& document,
                  const std::filesystem::path& file) {
  const Entry* entry = document.find("kind");
  if (entry == nullptr) {
    throw ConfigError(
        fmt::format("[config] {}: key \"kind\" must say what this is, got none; add {}",
                    file.string(), one_of(all_kinds(jobs), "\"kind: ", "\"")));
  }
  const Job* job = find_job(jobs, entry->value.text);
  if (job == nullptr && entry->value.text != loader_kind) {
    throw ConfigError(fmt::format("[config] {}: kind must be {}, got {}", entry->place.text(),
                                  one_of(all_kinds(jobs)), describe(entry->value)));
  }
  return job;
}

// `kind` is a key like any other for reading and writing.
void add_kind(Fields& fields, std::string& kind, const std::string& doc) {
  fields.choice("kind", kind, {{kind, kind}}, {.doc = doc});
}

LoaderConfig loader_config_of(const Node& document) {
  LoaderConfig config;
  std::string kind = loader_kind;
  Fields fields;
  add_kind(fields, kind, "");
  describe(fields, config);
  fields.read(document);
  return config;
}

std::shared_ptr<const JobConfig> stage_of(const Job& job, const Node& document,
                                          std::size_t number) {
  const std::shared_ptr<JobConfig> config = job.config();
  config->training.in_stage = true;
  config->training.name = fmt::format("stage-{}", number + 1);
  std::string kind = job.name;
  Fields fields;
  add_kind(fields, kind, job.help);
  config->describe_keys(fields);
  fields.read(document);
  config->settle(fields);
  config->seed += number * 0x9E3779B97F4A7C15U;  // else it would see the orders of the first again
  return config;
}

// What a run keeps of it must be read again: to resume, and by the child that measures its memory.
void require_readable(const std::string& yaml, const Node& document) {
  const std::string source = document.place.source ? *document.place.source : "configuration";
  static_cast<void>(parse_document(yaml, source + ", with every key written out"));
}

using Identity = std::map<std::string, std::string>;

// What nobody wrote, or wrote as it is anyway.
std::set<std::string> defaults_of(const Identity& identity, const Identity& document,
                                  const Identity& fresh) {
  std::set<std::string> defaults;
  for (const auto& [name, value] : identity) {
    const auto usual = fresh.find(name);
    if (!document.contains(name) || (usual != fresh.end() && usual->second == value))
      defaults.insert(name);
  }
  return defaults;
}

TrainingJob training_job_of(const Job& job, const Node& document) {
  const std::shared_ptr<JobConfig> config = job.config();
  std::string kind = job.name;
  Fields fields;
  add_kind(fields, kind, job.help);
  config->describe_keys(fields);
  const Identity fresh = run_identity(fields.write());
  fields.read(document);
  config->settle(fields);
  for (const Node& stage : stage_documents(document))
    config->stages.push_back(stage_of(job, stage, config->stages.size()));
  const Node written = fields.write();
  const Identity identity = run_identity(written);
  std::string yaml = fields.to_yaml(true);
  require_readable(yaml, document);
  return {.config = config,
          .name = job.name,
          .yaml = std::move(yaml),
          .learnt = to_yaml(what_is_learnt(written)),
          .identity = identity,
          .defaults = defaults_of(identity, run_identity(document), fresh)};
}

std::optional<std::uint64_t> bytes_of(const std::optional<Bytes>& bytes) {
  return bytes ? std::optional(bytes->value) : std::nullopt;
}

// What is wrong with that section alone is found in every run.
std::shared_ptr<const TrainingJob> shrunk_job(const Job& job, const Node& document) {
  const std::optional<Node> shrunk = smoke_document(document);
  if (!shrunk) return nullptr;
  try {
    TrainingJob training = training_job_of(job, *shrunk);
    training.config->check();
    return std::make_shared<const TrainingJob>(std::move(training));
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}; so it is with the keys of the section \"smoke\" ({})",
                                  error.what(), document.find("smoke")->place.text()));
  }
}

TrainingJob checked_job(const std::vector<Job>& jobs, const Node& document,
                        const std::filesystem::path& file) {
  const Job* job = job_of(jobs, document, file);
  if (job == nullptr) {
    throw ConfigError(
        fmt::format("[config] {}: kind must be {} to train, got loader; \"headrace bench "
                    "loader\" runs this configuration",
                    file.string(), one_of(names_of(jobs))));
  }
  TrainingJob training = training_job_of(*job, document);
  training.config->check();
  static_cast<void>(figure_goals(training.config->goals));
  training.shrunk = shrunk_job(*job, document);
  return training;
}

}  // namespace

const Job* find_job(const std::vector<Job>& jobs, std::string_view name) {
  const auto found =
      std::find_if(jobs.begin(), jobs.end(), [&](const Job& job) { return job.name == name; });
  return found == jobs.end() ? nullptr : &*found;
}

BenchJob read_bench_job(const std::vector<Job>& jobs, const std::filesystem::path& file,
                        const std::vector<std::string>& settings) {
  const Node document = with_settings(read_document(file), settings);
  if (const Job* job = job_of(jobs, document, file)) {
    const auto config = training_job_of(*job, document).config;
    return {.loader = config->loader_job(),
            .memory = bytes_of(config->memory.limit),
            .device_why = config->device == DeviceChoice::automatic
                              ? "auto: no model looks for a GPU here; --set device=cuda takes it"
                              : "as configured"};
  }
  const LoaderConfig config = loader_config_of(document);
  return {.loader = make_loader_job(config),
          .memory = bytes_of(config.memory),
          .device_why = is_images(config.data.source) && config.image.decode == Device::Kind::cuda
                            ? "image.decode is cuda"
                            : "kind loader"};
}

InspectJob read_inspect_job(const std::vector<Job>& jobs, const std::filesystem::path& file,
                            const std::vector<std::string>& settings) {
  const Node document = with_settings(read_document(file), settings);
  if (const Job* job = job_of(jobs, document, file))
    return {.parts = training_job_of(*job, document).config->data_parts()};
  const LoaderConfig config = loader_config_of(document);
  if (is_images(config.data.source)) return {.images = config};
  return {.parts = {loader_data_part(config)}};
}

TrainingJob read_training_job(const std::vector<Job>& jobs, const std::filesystem::path& file,
                              const std::vector<std::string>& settings) {
  return checked_job(jobs, with_settings(read_document(file), settings), file);
}

TrainingJob read_training_document(const std::vector<Job>& jobs, const Node& document,
                                   const std::filesystem::path& source) {
  return checked_job(jobs, document, source);
}

TrainingJob read_training_text(const std::vector<Job>& jobs, const std::string& yaml,
                               const std::string& source,
                               const std::vector<std::string>& settings) {
  return checked_job(jobs, with_settings(parse_document(yaml, source), settings), source);
}

}  // namespace headrace::inline v1::app
