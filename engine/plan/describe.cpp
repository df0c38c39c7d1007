#include <headrace/engine/plan/internal/plan.h>
#include <headrace/engine/tensor/device.h>

#include <sstream>
#include <vector>

namespace headrace::inline v1::detail {

namespace {

std::string mebibytes(std::size_t bytes) {
  std::ostringstream out;
  out.precision(1);
  out << std::fixed << static_cast<double>(bytes) / (1 << 20) << " MiB";
  return out.str();
}

/// "flip, rotate" for the steps of a node.
std::string steps_of(const Plan& plan, const NodePlan& node) {
  std::string text;
  for (std::size_t s = node.first_step; s < node.last_step; ++s) {
    text += (text.empty() ? "" : ", ") + plan.recipe.sample_steps[s].name;
  }
  return text;
}

std::string threads_of(const Plan& plan, const NodePlan& node) {
  if (node.reads && plan.io) return std::to_string(plan.runtime.io_threads()) + " I/O threads";
  if (node.limit != 0) return "limit " + std::to_string(node.limit);
  return std::to_string(plan.runtime.threads()) + " workers";
}

struct Row {
  std::string name;
  std::vector<std::string> lines;
};

std::vector<Row> rows_of(const Plan& plan) {
  std::vector<Row> rows;
  rows.push_back(
      {"order",
       {plan.order->describe(), "batch " + std::to_string(plan.recipe.batching->size) + " over " +
                                    std::to_string(plan.recipe.ranks.world) + " rank(s)"}});
  for (const NodePlan& node : plan.nodes) {
    Row row{node.name, {threads_of(plan, node)}};
    if (node.reads)
      row.lines.insert(row.lines.begin(),
                       plan.recipe.source->name() + (plan.gathers ? ", gathered" : ""));
    const std::string steps = steps_of(plan, node);
    if (!steps.empty()) row.lines.push_back(steps);
    rows.push_back(std::move(row));
  }
  if (!plan.direct) {
    rows[1].lines.push_back("at most " + std::to_string(plan.pumped_blocks) + " blocks, " +
                            mebibytes(plan.sample_bytes) + " until collate");
  }
  Row transfer{"transfer", {"in batch order, to " + to_string(plan.recipe.device)}};
  if (plan.device_slots > 0) {
    transfer.lines.push_back(std::to_string(plan.device_slots) + " slots of " +
                             mebibytes(plan.slot_bytes()) + " on the device");
  }
  for (const BatchStep& step : plan.recipe.batch_steps) {
    const bool says = step.work && step.work->describe;
    transfer.lines.push_back(step.name + (says ? " (" + step.work->describe() + ")" : ""));
  }
  rows.push_back(std::move(transfer));
  rows.push_back({"ready", {"capacity " + std::to_string(plan.options.prefetch) + " batches"}});
  rows.push_back({"trainer", {std::to_string(plan.options.loans) + " loan(s)"}});
  return rows;
}

}  // namespace

std::string Plan::describe(GraphFormat format) const {
  return format == GraphFormat::text ? text() : graphviz();
}

std::string Plan::text() const {
  std::ostringstream out;
  out << "loader \"" << recipe.name << "\": " << epoch_samples << " samples, " << batches()
      << " batches an epoch\n";
  for (const Row& row : rows_of(*this)) {
    out << "  -> " << row.name;
    const char* separator = ": ";
    for (const std::string& line : row.lines) {
      out << separator << line;
      separator = "; ";
    }
    out << '\n';
  }
  out << "slabs: " << slabs << " x " << mebibytes(layout.bytes()) << " " << to_string(schema)
      << '\n';
  out << "memory:";
  for (const auto& item : forecast().items)
    out << " " << item.name << " " << mebibytes(item.bytes) << ",";
  out << " total " << mebibytes(forecast().total());
  if (device_slots > 0) out << "; device " << mebibytes(forecast().device_bytes);
  out << '\n';
  return out.str();
}

std::string Plan::graphviz() const {
  std::ostringstream out;
  out << "digraph headrace {\n  rankdir=LR;\n  node [shape=box];\n";
  const auto stations = rows_of(*this);
  const auto escaped = [](const std::string& text) {
    std::string safe;
    for (const char c : text) {
      if (c == '"' || c == '\\') safe += '\\';
      safe += c;
    }
    return safe;
  };
  for (std::size_t i = 0; i < stations.size(); ++i) {
    out << "  n" << i << " [label=\"" << escaped(stations[i].name);
    for (const std::string& line : stations[i].lines)
      out << "\\n" << escaped(line);
    out << "\"];\n";
  }
  for (std::size_t i = 0; i + 1 < stations.size(); ++i)
    out << "  n" << i << " -> n" << i + 1 << ";\n";
  out << "  n" << stations.size() - 1 << " -> n1 [style=dashed, label=\"slab comes back: " << slabs
      << " x " << mebibytes(layout.bytes()) << "\"];\n}\n";
  return out.str();
}

}  // namespace headrace::inline v1::detail
