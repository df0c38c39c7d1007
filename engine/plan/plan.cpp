#include <headrace/engine/base/error.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/batch/internal/slab_pool.h>
#include <headrace/engine/device/device_runtime.h>
#include <headrace/engine/device/internal/device_objects.h>
#include <headrace/engine/plan/internal/plan.h>

#include <algorithm>
#include <map>
#include <utility>

namespace headrace::inline v1::detail {

namespace {

std::string who(const Recipe& recipe) {
  return "[" + recipe.name + "] ";
}

std::string legal_sizes(std::int64_t size, int world) {
  const std::int64_t below = size / world * world;
  std::string text = std::to_string(below + world);
  return below > 0 ? std::to_string(below) + " or " + text : text;
}

/// What samples take of a budget where there are no more than `most` of them.
std::size_t most_held(const Source& source, std::size_t budget, std::int64_t most) {
  const std::size_t largest = budget > 0 ? source.largest_working_bytes() : 0;
  const auto samples = static_cast<std::size_t>(most);
  return largest == 0 || samples > budget / largest ? budget : samples * largest;
}

/// Budget of samples between read and collate where the options name none.
std::size_t default_sample_bytes(const Source& source, int blocks) {
  return std::max<std::size_t>(std::size_t{64} << 20,
                               static_cast<std::size_t>(blocks) * source.largest_working_bytes());
}

/// Memory for the fields that batch steps make, as BatchMemory::make() will find it: a field that
/// is made more than once has two pieces in turn, for a step reads the one and writes the other.
std::vector<MadePiece> made_pieces(Schema in, const std::vector<BatchStep>& steps,
                                   std::int64_t rows) {
  std::map<std::string, int> times;
  std::map<std::pair<std::string, int>, std::size_t> largest;
  for (const BatchStep& step : steps) {
    if (!step.schema) continue;
    Schema out = step.schema(in);
    for (const FieldSpec& field : out) {
      const FieldSpec* before = in.find(field.name);
      if (before != nullptr && *before == field) continue;
      std::size_t& bytes = largest[{field.name, times[field.name]++ % 2}];
      bytes = std::max(bytes, piece_bytes(field.row_bytes() * static_cast<std::size_t>(rows)));
    }
    in = std::move(out);
  }
  std::vector<MadePiece> pieces;
  pieces.reserve(largest.size());
  for (const auto& [place, bytes] : largest)
    pieces.push_back({place.first, bytes});
  return pieces;
}

}  // namespace

Plan::Plan(const Recipe& wanted, const LoaderOptions& wished)
    : recipe(wanted),
      options(wished),
      runtime(wished.runtime ? *wished.runtime : Runtime::process_default()) {
  check();
  require_device(recipe.device, recipe.name);
  place_device_work();
  order = recipe.bind_order ? recipe.bind_order(recipe.source->size())
                            : Sequential{}.bind(recipe.source->size());
  seed = recipe.seed.value_or(order->seed());
  loader_hash = hash_name(recipe.name);
  rows = recipe.batching->size / recipe.ranks.world;
  order_length = order->length();
  epoch_samples = order_length;
  if (recipe.batching->tail == Tail::drop)
    epoch_samples = epoch_samples / recipe.batching->size * recipe.batching->size;
  if (epoch_samples == 0) {
    throw DataError(who(recipe) + "an epoch must fill at least one batch, got " +
                    std::to_string(order_length) + " samples for a batch of " +
                    std::to_string(recipe.batching->size) +
                    " with the tail dropped; lower the batch size or deliver the tail");
  }
  infer_schema();
  key_steps();
  lay_out_nodes();
  count_memory();
  name_stages();
  if (!options.log) return;
  if (recipe.device.is_cuda()) {
    options.log(LogLevel::info,
                who(recipe) + to_string(recipe.device) + " through " + device_runtime());
  }
  options.log(LogLevel::info, describe(GraphFormat::text));
}

void Plan::check() const {
  const auto fail = [&](const std::string& rule) { throw ConfigError(who(recipe) + rule); };
  if (!recipe.source) fail("a source is needed, got none; start with Pipeline::from(source)");
  if (!recipe.batching) fail("batch() must be called before build(); add .batch({.size = 32})");
  if (recipe.batching->size <= 0) {
    fail("batch size must be positive, got " + std::to_string(recipe.batching->size));
  }
  const Ranks& ranks = recipe.ranks;
  if (ranks.world < 1 || ranks.rank < 0 || ranks.rank >= ranks.world) {
    fail("rank must lie in [0, world), got rank " + std::to_string(ranks.rank) + " of " +
         std::to_string(ranks.world));
  }
  if (recipe.batching->size % ranks.world != 0) {
    fail("the batch size must divide by the " + std::to_string(ranks.world) + " ranks, got " +
         std::to_string(recipe.batching->size) +
         "; legal near it: " + legal_sizes(recipe.batching->size, ranks.world));
  }
  if (options.prefetch < 1)
    fail("prefetch must be at least 1, got " + std::to_string(options.prefetch));
  if (options.prefetch > 4096 || options.loans > 4096) {
    fail("prefetch and loans must be at most 4096, got " + std::to_string(options.prefetch) +
         " and " + std::to_string(options.loans));
  }
  const int attempts = recipe.bad_samples.attempts;
  if (attempts < 1 || attempts > 65535) {
    fail("BadSamples.attempts must lie in [1, 65535], got " + std::to_string(attempts));
  }
  if (options.loans < 1) fail("loans must be at least 1, got " + std::to_string(options.loans));
  if (options.watchdog.after.count() < 0) fail("WatchdogOptions.after must not be negative");
  const auto& log = recipe.bad_samples.log;
  if (!log.empty() && log.has_parent_path() && !std::filesystem::is_directory(log.parent_path())) {
    fail("the log of bad samples needs an existing folder, got " + log.string());
  }
}

void Plan::infer_schema() {
  schema = recipe.source->fields();
  for (const SampleStep& step : recipe.sample_steps) {
    if (step.limit < 0)
      throw ConfigError(who(recipe) + "step " + step.name + ": limit must not be negative");
    if (step.schema) schema = step.schema(schema);
  }
  for (const FieldSpec& field : schema) {
    if (field.shape.rank() >= Shape::max_rank) {
      throw ConfigError(who(recipe) + "a field may have " + std::to_string(Shape::max_rank - 1) +
                        " axes beside the rows, got " + to_string(field));
    }
    if (field.kind == FieldSpec::Kind::ragged && field.shape.rank() != 1) {
      throw ConfigError(who(recipe) + "a ragged field must have one axis, got " + to_string(field));
    }
  }
  if (schema.size() == 0)
    throw ConfigError(who(recipe) + "a sample must have at least one field, got none");
  check_host_fields();
  const bool valid =
      recipe.batching->tail == Tail::pad || recipe.bad_samples.rule == BadSamples::Rule::shrink;
  layout = Layout(schema, rows, valid);
}

void Plan::key_steps() {
  std::map<std::string, int> seen;
  for (const SampleStep& step : recipe.sample_steps) {
    const int occurrence = seen[step.name]++;
    const std::uint64_t hash = hash_name(step.name + "#" + std::to_string(occurrence));
    step_keys.push_back(static_cast<std::uint32_t>(hash ^ (hash >> 32)));
  }
}

void Plan::lay_out_nodes() {
  const Source& source = *recipe.source;
  io = source.blocking();
  const auto& specs = source.fields();
  gathers = source.gathers() && recipe.sample_steps.empty() &&
            specs.size() <= most_gathered_fields &&
            std::all_of(specs.begin(), specs.end(),
                        [](const FieldSpec& f) { return f.kind == FieldSpec::Kind::fixed; });
  if (gathers) {
    for (const Layout::Field& field : layout.fields())
      source_columns.push_back(field.values);
  }
  nodes.push_back({.name = "read", .reads = true});
  for (std::size_t s = 0; s < recipe.sample_steps.size(); ++s) {
    const SampleStep& step = recipe.sample_steps[s];
    const char* role = step.decodes ? "decode" : "augment";
    NodePlan& last = nodes.back();
    const bool alone = io && nodes.size() == 1;
    if (options.fuse && !alone && step.limit == 0 && last.limit == 0) {
      if (!last.name.ends_with(role)) last.name += std::string("+") + role;
      last.last_step = s + 1;
    } else {
      nodes.push_back({.name = role, .limit = step.limit, .first_step = s, .last_step = s + 1});
    }
  }
  if (options.fuse && !(io && nodes.size() == 1) && nodes.back().limit == 0) {
    nodes.back().name += "+collate";
    nodes.back().collates = true;
  } else {
    const std::size_t steps = recipe.sample_steps.size();
    nodes.push_back({.name = "collate", .first_step = steps, .last_step = steps, .collates = true});
  }
  direct = nodes.size() == 1;
  reads_now = io && !gathers && nodes[1].limit == 0;
}

void Plan::count_memory() {
  const int threads = runtime.threads();
  const bool on_device = recipe.device.is_cuda();
  slabs = options.prefetch + options.loans + (on_device ? 1 : 0) +
          static_cast<int>(ceil_div(threads, rows));
  if (layout.has_host_only()) ++slabs;  // one whose copy is done, but not what reads it
  // Beside those on loan: one that is ready, and one that is being copied.
  device_slots = on_device ? options.loans + 2 : 0;
  pumped_blocks = 4 * threads + runtime.io_threads();
  if (!direct && !gathers) {
    sample_bytes = options.sample_memory != 0 ? options.sample_memory
                                              : default_sample_bytes(*recipe.source, pumped_blocks);
  } else if (!gathers) {
    sample_bytes = static_cast<std::size_t>(threads) * recipe.source->largest_working_bytes();
  }
  held_sample_bytes = most_held(*recipe.source, sample_bytes, slabs * rows);
  made = made_pieces(schema, recipe.batch_steps, rows);
  for (const MadePiece& piece : made)
    made_bytes += piece.bytes;
  for (const BatchStep& step : recipe.batch_steps)
    if (step.work && step.work->device_bytes) work_bytes += step.work->device_bytes(rows);
  const std::size_t total = forecast().total();
  const auto hold_to = [&](std::size_t limit, const std::string& name) {
    if (limit == 0 || total <= limit) return;
    std::string sum;
    for (const auto& item : forecast().items) {
      sum += (sum.empty() ? "" : " + ") + item.name + " " + std::to_string(item.bytes);
    }
    throw ResourceError(who(recipe) + "host memory must stay under " + std::to_string(limit) +
                        " bytes, the forecast is " + std::to_string(total) + " = " + sum +
                        "; lower the batch size or prefetch, or raise " + name);
  };
  hold_to(options.host_memory, "host_memory");
  hold_to(runtime.memory_limit(), "Runtime.memory");
}

void Plan::name_stages() {
  using Place = StageStats::Place;
  stages.push_back({"read", "read", io ? Place::io : Place::worker, 0});
  std::map<std::string, int> seen;
  for (const SampleStep& step : recipe.sample_steps) {
    const int occurrence = seen[step.name]++;
    const std::string name =
        occurrence == 0 ? step.name : step.name + "#" + std::to_string(occurrence + 1);
    stages.push_back({name, step.decodes ? "decode" : "augment", Place::worker, step.limit});
  }
  stages.push_back({"collate", "collate", Place::worker, 0});
  stages.push_back({"transfer", "transfer", Place::transfer, 1});
  for (const BatchStep& step : recipe.batch_steps)
    stages.push_back({step.name, "transfer", Place::transfer, 1});
}

std::int64_t Plan::batches(std::int64_t from) const noexcept {
  const std::int64_t size = recipe.batching->size;
  const std::int64_t left = std::max<std::int64_t>(0, order_length - from);
  return recipe.batching->tail == Tail::drop ? left / size : ceil_div(left, size);
}

std::size_t Plan::held_bytes() const noexcept {
  const std::size_t beside = device_slots == 0 ? made_bytes : 0;
  return (SlabPool::stride(layout) + beside) * static_cast<std::size_t>(slabs) + held_sample_bytes;
}

MemoryForecast Plan::forecast() const {
  const std::size_t slab = SlabPool::stride(layout);
  MemoryForecast forecast;
  forecast.items.push_back(
      {std::to_string(slabs) + " slabs", slab * static_cast<std::size_t>(slabs)});
  forecast.device_bytes = slot_bytes() * static_cast<std::size_t>(device_slots) + work_bytes;
  if (made_bytes != 0 && device_slots == 0) {
    forecast.items.push_back(
        {"fields made by batch steps", made_bytes * static_cast<std::size_t>(slabs)});
  }
  if (sample_bytes != 0)
    forecast.items.push_back({"samples between read and collate", held_sample_bytes});
  std::size_t working = 0;
  Schema in = recipe.source->fields();
  for (const SampleStep& step : recipe.sample_steps) {
    if (step.working_bytes) working += step.working_bytes(in);
    if (step.schema) in = step.schema(in);
  }
  if (working != 0) {
    forecast.items.push_back(
        {"working memory of steps", working * static_cast<std::size_t>(runtime.threads())});
  }
  forecast.items.push_back({"source", recipe.source->resident_bytes()});
  forecast.items.push_back({"order", order ? order->bytes() : 0});
  return forecast;
}

}  // namespace headrace::inline v1::detail
