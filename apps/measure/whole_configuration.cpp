#include <headrace/apps/config/fields.h>
#include <headrace/apps/job/read_job.h>
#include <headrace/apps/job/run_identity.h>
#include <headrace/apps/measure/whole_configuration.h>

#include <charconv>

namespace headrace::inline v1::app {
namespace {

void read_loader(WholeConfiguration& whole) {
  const auto config = std::make_shared<LoaderConfig>();
  std::string kind = loader_kind;
  Fields fields;
  fields.choice("kind", kind, {{kind, kind}});
  describe(fields, *config);
  fields.read(whole.asked);
  whole.full = fields.write();
  whole.identity = run_identity(whole.full);
  whole.loader = config;
}

}  // namespace

std::string WholeConfiguration::yaml() const {
  return to_yaml(asked);
}

std::optional<std::string> WholeConfiguration::value(std::string_view path) const {
  const Node* node = find_path(full, path);
  if (node == nullptr || node->kind != Node::Kind::scalar) return std::nullopt;
  return node->text;
}

std::optional<int> WholeConfiguration::number(std::string_view path) const {
  const std::optional<std::string> text = value(path);
  if (!text) return std::nullopt;
  int number = 0;
  const char* const end = text->data() + text->size();
  const auto [stopped, error] = std::from_chars(text->data(), end, number);
  return error == std::errc() && stopped == end ? std::optional(number) : std::nullopt;
}

WholeConfiguration read_whole_configuration(const std::vector<Job>& jobs, const Node& asked) {
  const std::string source = asked.place.source ? *asked.place.source : "configuration";
  WholeConfiguration whole{.asked = asked};
  const Entry* kind = asked.find("kind");
  whole.trains = kind == nullptr || kind->value.text != loader_kind;
  if (whole.trains) {
    const TrainingJob job = read_training_document(jobs, asked, source);
    whole.full = parse_document(job.yaml, source);
    whole.identity = job.identity;
    whole.job = job.config;
  } else {
    read_loader(whole);
  }
  return whole;
}

WholeConfiguration read_whole_configuration(const std::vector<Job>& jobs,
                                            const std::filesystem::path& file,
                                            const std::vector<std::string>& settings) {
  Node asked = read_document(file);
  for (const std::string& setting : settings)
    apply_override(asked, setting);
  return read_whole_configuration(jobs, asked);
}

RecordBytes record_bytes(const WholeConfiguration& configuration) {
  return configuration.loader ? record_bytes(*configuration.loader)
                              : record_bytes(*configuration.job, configuration.full);
}

}  // namespace headrace::inline v1::app
