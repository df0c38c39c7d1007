#include <headrace/apps/config/key_table.h>
#include <headrace/apps/feed/augment.h>
#include <headrace/apps/feed/loader_config.h>
#include <headrace/apps/job/configuration_text.h>
#include <headrace/apps/job/read_job.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/base/nearest.h>

#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace::inline v1::app {
namespace {

constexpr const char* augment_key = "augment";
constexpr const char* prepare_key = "image.prepare";  // a list of the same operations

std::vector<KeyDoc> keys_of(const std::vector<Job>& jobs, const std::string& kind) {
  Fields fields;
  if (const Job* job = find_job(jobs, kind)) {
    const auto config = job->config();
    config->describe_keys(fields);
    return fields.keys();
  }
  LoaderConfig config;
  describe(fields, config);
  return fields.keys();
}

// A phrase as a line of its own.
std::string sentence(std::string phrase) {
  phrase.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(phrase.front())));
  return phrase + ".\n";
}

class Page {
 public:
  /// The keys of a section, `path` is its own, and behind their table what they hold.
  void section(const std::string& path, const std::vector<KeyDoc>& keys) {
    const std::string table = key_table(keys, "key");
    if (!table.empty()) text_ += '\n' + table;
    for (const KeyDoc& key : keys) {
      const std::string below = path.empty() ? key.name : path + '.' + key.name;
      if (!key.kinds.empty()) {
        entry(below, key);
      } else if (!key.keys.empty()) {
        heading(key.value.empty() ? below : below + ".N", key);
        section(below, key.keys);
      }
    }
  }

  std::string take() { return std::move(text_); }

 private:
  void heading(const std::string& title, const KeyDoc& key) {
    text_ += fmt::format("\n### `{}`\n", title);
    std::string said = key.doc;
    if (!key.used_when.empty() && key.value.empty())
      said += fmt::format("{}Only where {}", said.empty() ? "" : ". ", key.used_when);
    if (said.empty()) return;
    text_ += '\n' + sentence(said);
  }

  void entry(const std::string& path, const KeyDoc& key) {
    if (path == augment_key || path == prepare_key) return;  // a page of their own
    for (const KeyDoc& kind : key.kinds) {
      KeyDoc said = kind;
      if (!kind.main.empty())
        said.doc += fmt::format("{}`{}: value` sets `{}`", said.doc.empty() ? "" : "; ", kind.name,
                                kind.main);
      heading(path + ": " + kind.name, said);
      section(path + '.' + kind.name, kind.keys);
    }
    if (key.keys.empty()) return;
    text_ += fmt::format("\n### `{}`, every entry\n\nBeside its name an entry may have:\n", path);
    section(path, key.keys);
  }

  std::string text_;
};

std::string text_of(const std::vector<Job>& jobs, const KindLine& kind) {
  Page page;
  page.section("", keys_of(jobs, kind.name));
  return fmt::format("## kind: {}\n\n{}{}", kind.name, sentence(kind.help), page.take());
}

}  // namespace

std::vector<KindLine> configuration_kinds(const std::vector<Job>& jobs) {
  std::vector<KindLine> kinds;
  kinds.reserve(jobs.size() + 1);
  for (const Job& job : jobs)
    kinds.push_back({.name = job.name, .help = job.help});
  kinds.push_back(
      {.name = loader_kind, .help = "a pipeline without a model, to bench and inspect"});
  return kinds;
}

std::string configuration_text(const std::vector<Job>& jobs, const std::string& kind) {
  if (kind == augment_key) return "## augment\n" + augment_table_text();
  std::vector<std::string> names;
  for (const KindLine& known : configuration_kinds(jobs)) {
    if (known.name == kind) return text_of(jobs, known);
    names.push_back(known.name);
  }
  names.emplace_back(augment_key);
  const auto meant = nearest_name(kind, names);
  throw ConfigError(fmt::format("[config] kind must be one of {}, got {}{}", fmt::join(names, ", "),
                                kind, meant ? fmt::format("; did you mean {}?", *meant) : ""));
}

std::string configurations_text(const std::vector<Job>& jobs) {
  std::string text;
  for (const KindLine& kind : configuration_kinds(jobs)) {
    if (!text.empty()) text += '\n';
    text += text_of(jobs, kind);
  }
  return text;
}

}  // namespace headrace::inline v1::app
