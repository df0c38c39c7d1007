// Keys that the documents name are keys of a configuration.
#include <headrace/apps/feed/loader_config.h>
#include <headrace/apps/jobs/jobs.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/source_folder.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

namespace app = headrace::app;
namespace fs = std::filesystem;

// Paths of the keys of every kind.
std::set<std::string> known_keys() {
  app::LoaderConfig loader;
  app::Fields of_loader;
  describe(of_loader, loader);
  std::vector<std::string> paths = of_loader.paths();
  for (const app::Job& job : app::jobs()) {
    const auto config = job.config();
    app::Fields fields;
    config->describe_keys(fields);
    const std::vector<std::string> more = fields.paths();
    paths.insert(paths.end(), more.begin(), more.end());
  }
  return {paths.begin(), paths.end()};
}

// A key, a section of keys, or a parameter of one that is an entry: "training.schedule.cosine".
bool is_known(const std::set<std::string>& keys, const std::string& key) {
  return std::any_of(keys.begin(), keys.end(), [&](const std::string& known) {
    return known == key || known.starts_with(key + '.') || key.starts_with(known + '.');
  });
}

std::vector<fs::path> documents() {
  const fs::path root = headrace::test::source_folder();
  std::vector<fs::path> files{root / "README.md", root / "CONTRIBUTING.md"};
  for (const char* folder : {"docs", "apps", "configs"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension();
      if (extension == ".md" || extension == ".yaml") files.push_back(entry.path());
    }
  }
  return files;
}

}  // namespace

TEST_CASE("every key that README, documents and configurations name is one of a configuration") {
  const std::set<std::string> keys = known_keys();
  // In code marks or a setting; sections of old, too.
  const std::regex named(
      "(?:`|--set '?)((?:data|image|loss|training|threads|delay|source|cache|loader|runtime)"
      "\\.[a-z_]+(?:\\.[a-z_]+)*)(?=[=`: ])");
  int found = 0;
  for (const fs::path& file : documents()) {
    const std::string text = headrace::test::content_of(file);
    for (std::sregex_iterator at(text.begin(), text.end(), named), end; at != end; ++at) {
      const std::string key = (*at)[1];
      if (key.ends_with(".cpp") || key.ends_with(".h")) continue;  // a file
      CAPTURE(file);
      CHECK_MESSAGE(is_known(keys, key), key);
      ++found;
    }
  }
  CHECK(found > 15);
}
