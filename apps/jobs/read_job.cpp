#include <headrace/apps/jobs/read_job.h>

#include <headrace/apps/jobs/glaucoma/data.h>
#include <headrace/apps/jobs/leak/data.h>

#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

enum class Kind : unsigned char { glaucoma, leak, loader };

constexpr std::array<std::pair<std::string_view, Kind>, 3> kinds{
    {{"glaucoma", Kind::glaucoma}, {"leak", Kind::leak}, {"loader", Kind::loader}}};

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
        "[config] {}: key \"kind\" must say what this is, got none; add \"kind: glaucoma\", "
        "\"kind: leak\" or \"kind: loader\"",
        file.string()));
  }
  for (const auto& [name, kind] : kinds) {
    if (entry->value.text == name) return kind;
  }
  throw ConfigError(fmt::format("[config] {}: kind must be glaucoma, leak or loader, got {}",
                                entry->place.text(), describe(entry->value)));
}

// `kind` is a key like any other for reading and writing.
template <class Config>
std::string read_as(Kind kind, const Node& document, Config& config) {
  Fields fields;
  fields.choice("kind", kind,
                {{"glaucoma", Kind::glaucoma}, {"leak", Kind::leak}, {"loader", Kind::loader}});
  describe(fields, config);
  fields.read(document);
  return fields.to_yaml(true);
}

std::optional<std::uint64_t> bytes_of(const std::optional<Bytes>& bytes) {
  return bytes ? std::optional(bytes->value) : std::nullopt;
}

// A bench of a job is one of its training loader.
template <class Config, class Make>
BenchJob bench_of(Kind kind, const Node& document, const Make& make) {
  Config config;
  read_as(kind, document, config);
  return {.loader = make(config), .memory = bytes_of(config.memory)};
}

template <class Config>
TrainingJob training_of(Kind kind, std::string name, const Node& document) {
  Config config;
  std::string yaml = read_as(kind, document, config);
  return {.config = config,
          .name = std::move(name),
          .yaml = std::move(yaml),
          .device = config.device,
          .memory = config.memory,
          .runs = config.runs,
          .threads = config.threads};
}

void check(const GlaucomaTraining& training) {
  if (training.fold && *training.fold >= training.folds) {
    throw ConfigError(
        fmt::format("[config] training.fold must be below training.folds = {}, got {}",
                    training.folds, *training.fold));
  }
}

void check(const LeakTraining& training) {
  if (training.warmup_epochs > training.epochs) {
    throw ConfigError(fmt::format(
        "[config] training.warmup_epochs must not be above training.epochs = {}, got {}",
        training.epochs, training.warmup_epochs));
  }
}

}  // namespace

BenchJob read_bench_job(const std::filesystem::path& file,
                        const std::vector<std::string>& settings) {
  const Node document = read_with_settings(file, settings);
  switch (const Kind kind = kind_of(document, file)) {
    case Kind::glaucoma:
      return bench_of<GlaucomaConfig>(kind, document, make_glaucoma_loader_job);
    case Kind::leak:
      return bench_of<LeakConfig>(kind, document, make_leak_loader_job);
    default:
      return bench_of<LoaderConfig>(
          kind, document, [](const LoaderConfig& config) { return make_loader_job(config); });
  }
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
  const Kind kind = kind_of(document, file);
  if (kind == Kind::loader) {
    throw ConfigError(fmt::format(
        "[config] {}: kind must be glaucoma or leak to train, got loader; \"headrace bench "
        "loader\" runs this configuration",
        file.string()));
  }
  TrainingJob job = kind == Kind::glaucoma ? training_of<GlaucomaConfig>(kind, "glaucoma", document)
                                           : training_of<LeakConfig>(kind, "leak", document);
  std::visit([](const auto& config) { check(config.training); }, job.config);
  return job;
}

}  // namespace headrace::inline v1::app
