#include <headrace/apps/plot/markup.h>
#include <headrace/apps/report/page.h>
#include <headrace/apps/report/report_sections.h>

namespace headrace::inline v1::app {

std::string report_config(const RunRecord& run, const std::vector<Job>& jobs) {
  PageTable table{.headings = {"key", "value", "default"}, .text_columns = 3};
  for (const ChangedKey& key : changed_keys(run.config, jobs))
    table.rows.push_back({key.path, key.value, key.usual});
  std::string html;
  if (!table.rows.empty())
    html = paragraph("Keys that are not at their defaults:") + to_html(table);
  html += folded_text("config.yaml, every key", run.config_text);
  std::string commands;
  for (const std::string& command : run.commands)
    commands += command + '\n';
  html += folded_text(
      run.commands.size() > 1 ? "command.txt: each time that it was started" : "command.txt",
      commands);
  return section("Configuration", html);
}

}  // namespace headrace::inline v1::app
