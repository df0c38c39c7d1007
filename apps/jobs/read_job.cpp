#include <headrace/apps/jobs/read_job.h>

#include <headrace/apps/jobs/glaucoma.h>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

enum class Kind : unsigned char { glaucoma, loader };

Node read_with_settings(const std::filesystem::path& file,
                        const std::vector<std::string>& settings) {
  Node document = read_document(file);
  for (const std::string& setting : settings)
    apply_override(document, setting);
  return document;
}

// The rest of the keys depends on this one, so it is looked at first.
Kind kind_of(const Node& document, const std::filesystem::path& file) {
  const Entry* entry = document.find("kind");
  if (entry == nullptr) {
    throw ConfigError(fmt::format(
        "[config] {}: key \"kind\" must say what this is, got none; add \"kind: glaucoma\" or "
        "\"kind: loader\"",
        file.string()));
  }
  if (entry->value.text == "glaucoma") return Kind::glaucoma;
  if (entry->value.text == "loader") return Kind::loader;
  throw ConfigError(fmt::format("[config] {}: kind must be glaucoma or loader, got {}",
                                entry->place.text(), describe(entry->value)));
}

// `kind` is a key like any other for reading and writing.
template <class Config>
std::string read_as(Kind kind, const Node& document, Config& config) {
  Fields fields;
  fields.choice("kind", kind, {{"glaucoma", Kind::glaucoma}, {"loader", Kind::loader}});
  describe(fields, config);
  fields.read(document);
  return fields.to_yaml(true);
}

std::optional<std::uint64_t> bytes_of(const std::optional<Bytes>& bytes) {
  return bytes ? std::optional(bytes->value) : std::nullopt;
}

}  // namespace

BenchJob read_bench_job(const std::filesystem::path& file,
                        const std::vector<std::string>& settings) {
  const Node document = read_with_settings(file, settings);
  if (kind_of(document, file) == Kind::glaucoma) {
    GlaucomaConfig config;
    read_as(Kind::glaucoma, document, config);
    return {.loader = make_glaucoma_loader_job(config), .memory = bytes_of(config.memory)};
  }
  LoaderConfig config;
  read_as(Kind::loader, document, config);
  return {.loader = make_loader_job(config), .memory = bytes_of(config.memory)};
}

LoaderConfig read_loader_config(const std::filesystem::path& file,
                                const std::vector<std::string>& settings) {
  const Node document = read_with_settings(file, settings);
  if (kind_of(document, file) != Kind::loader) {
    throw ConfigError(fmt::format("[config] {}: kind must be loader, got another", file.string()));
  }
  LoaderConfig config;
  read_as(Kind::loader, document, config);
  return config;
}

TrainingJob read_training_job(const std::filesystem::path& file,
                              const std::vector<std::string>& settings) {
  const Node document = read_with_settings(file, settings);
  if (kind_of(document, file) != Kind::glaucoma) {
    throw ConfigError(fmt::format(
        "[config] {}: kind must be glaucoma to train, got loader; \"headrace bench loader\" runs "
        "this configuration",
        file.string()));
  }
  TrainingJob job;
  job.yaml = read_as(Kind::glaucoma, document, job.glaucoma);
  const auto& training = job.glaucoma.training;
  if (training.fold && *training.fold >= training.folds) {
    throw ConfigError(
        fmt::format("[config] training.fold must be below training.folds = {}, got {}",
                    training.folds, *training.fold));
  }
  return job;
}

}  // namespace headrace::inline v1::app
