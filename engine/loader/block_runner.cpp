#include <headrace/engine/base/error.h>
#include <headrace/engine/loader/detail/block_runner.h>
#include <headrace/engine/runtime/internal/crew.h>
#include <headrace/engine/stats/internal/trace_range.h>

#include <algorithm>
#include <array>

namespace headrace::inline v1::detail {

BlockRunner::BlockRunner(const Plan& plan, SlabPool& pool, Recorder& recorder)
    : plan_(plan), pool_(pool), recorder_(recorder) {
  const bool replaces = plan.recipe.bad_samples.rule == BadSamples::Rule::replace;
  for (const SampleStep& step : plan.recipe.sample_steps)
    gates_.push_back(replaces && step.limit > 0 ? std::make_unique<Gate>(step.limit) : nullptr);
}

void BlockRunner::order(Block& block) const noexcept {
  const BatchPlace& place = block.flight->place;
  try {
    block.indices.assign(static_cast<std::size_t>(block.rows), 0);
    block.attempts.assign(static_cast<std::size_t>(block.rows), 0);
    plan_.order->indices(place.epoch, place.first + block.first, block.indices);
  } catch (...) {
    fail_whole(block, "order");
  }
}

Activity::State BlockRunner::at_work(const Block& block, std::size_t stage) const noexcept {
  const BatchPlace& place = block.flight->place;
  return {.stage = static_cast<std::int64_t>(stage),
          .epoch = place.epoch,
          .position = place.first + block.first,
          .batch = place.number,
          .row = block.first};
}

/// For the trace, if one is on: all rows of the block, from `begun` until now. Names are the
/// stages' and behind them the nodes'.
void BlockRunner::put_span(std::size_t name, const Block& block, int thread,
                           std::int64_t begun) const noexcept {
  TraceRings* const trace = recorder_.trace();
  if (trace == nullptr) return;
  const BatchPlace& place = block.flight->place;
  trace->of(thread).put({.name = static_cast<std::uint16_t>(name),
                         .rows = static_cast<std::uint32_t>(block.rows),
                         .start = begun,
                         .duration = now_ns() - begun,
                         .batch = place.number,
                         .epoch = static_cast<std::int32_t>(place.epoch),
                         .row = static_cast<std::int32_t>(block.first)});
}

/// Fails the batch with the exception at hand; the block has no rows any more.
void BlockRunner::fail_whole(Block& block, const char* stage) const noexcept {
  const BatchPlace& place = block.flight->place;
  Origin origin;
  origin.epoch = place.epoch;
  origin.position = place.first + block.first;
  origin.batch = place.number;
  origin.row = block.first;
  block.flight->fail(block.first, with_stage(stage, origin, std::current_exception()));
  block.indices.clear();
  block.rows = 0;
}

std::size_t BlockRunner::estimate(const Block& block) const noexcept {
  std::size_t bytes = 0;
  for (const std::int64_t index : block.indices) {
    try {
      bytes += plan_.recipe.source->working_bytes(index);
    } catch (...) {
      // A record that cannot be estimated cannot be read either: its read says why.
      continue;
    }
  }
  return bytes;
}

void BlockRunner::run(const NodePlan& node, Block& block, int thread) const noexcept {
  if (block.flight->skipped() || block.rows == 0) return;
  const std::int64_t begun = recorder_.trace() != nullptr ? now_ns() : 0;
  work(node, block, thread);
  if (begun == 0) return;
  const auto number = static_cast<std::size_t>(&node - plan_.nodes.data());
  put_span(plan_.stages.size() + number, block, thread, begun);
}

void BlockRunner::work(const NodePlan& node, Block& block, int thread) const noexcept {
  const TraceRange range(node.name);
  const BatchPlace& place = block.flight->place;
  Activity& activity = recorder_.activity(thread);
  const Activity::Work at(activity, at_work(block, plan_.first_stage(node)));
  try {
    if (plan_.gathers) {
      if (node.reads) gather(block, thread);
      return;
    }
    if (block.samples.size() < static_cast<std::size_t>(block.rows)) {
      block.samples.resize(static_cast<std::size_t>(block.rows));
    }
  } catch (...) {
    return fail_whole(block, "read");
  }
  Stopwatch watch(plan_, recorder_, block.rows, thread);
  for (std::int64_t k = 0; k < block.rows; ++k) {
    if (block.attempts[static_cast<std::size_t>(k)] == Block::dead) continue;
    watch.start_row(k);
    activity.at_row(block.first + k, place.first + block.first + k,
                    block.indices[static_cast<std::size_t>(k)]);
    try {
      run_row(node, block, k, watch);
    } catch (...) {
      handle(node, block, k, watch.stage(), thread);
    }
  }
  block.busy_ns += watch.stop(node);
}

void BlockRunner::run_row(const NodePlan& node, Block& block, std::int64_t k,
                          Stopwatch& watch) const {
  if (node.reads) {
    watch.enter(plan_.read_stage());
    read(block, k);
    watch.leave();
  } else if (plan_.io && &node == &plan_.nodes[1]) {
    bind_rows(block, k);
  }
  for (std::size_t s = node.first_step; s < node.last_step; ++s) {
    watch.enter(plan_.step_stage(s));
    step(s, block, k, watch.thread());
    watch.leave();
  }
  if (node.collates) {
    watch.enter(plan_.collate_stage());
    collate(block, k);
    watch.leave();
  }
}

Sample& BlockRunner::fresh_sample(Block& block, std::int64_t k) const {
  Sample& sample = block.samples[static_cast<std::size_t>(k)];
  sample.reset();
  sample.origin() = origin(block, k);
  return sample;
}

bool BlockRunner::read_now(Block& block, int thread) const noexcept {
  if (block.flight->skipped() || block.rows == 0) return true;
  const std::int64_t begun = now_ns();
  const std::int64_t heap = recorder_.heap();
  const Activity::Work work(recorder_.activity(thread), at_work(block, plan_.read_stage()));
  try {
    block.samples.resize(std::max(block.samples.size(), static_cast<std::size_t>(block.rows)));
    for (std::int64_t k = 0; k < block.rows; ++k) {
      const auto row = static_cast<std::size_t>(k);
      if (block.attempts[row] == Block::dead) continue;
      if (!plan_.recipe.source->read_now(block.indices[row], fresh_sample(block, k))) return false;
    }
  } catch (...) {
    return false;  // read() says what is wrong
  }
  recorder_.keep(thread, plan_.read_stage(), heap);
  const std::int64_t took = now_ns() - begun;
  block.busy_ns += took;
  put_span(plan_.read_stage(), block, thread, begun);
  if (recorder_.on()) recorder_.add(thread, plan_.read_stage(), block.rows, took);
  return true;
}

void BlockRunner::read(Block& block, std::int64_t k) const {
  Sample& sample = fresh_sample(block, k);
  if (!plan_.io) bind_rows(block, k);
  plan_.recipe.source->read(block.indices[static_cast<std::size_t>(k)], sample);
}

void BlockRunner::step(std::size_t s, Block& block, std::int64_t k, int thread) const {
  const SampleStep& step = plan_.recipe.sample_steps[s];
  Random random = step.random ? Random(key(block, k, plan_.step_keys[s])) : Random();
  Sample& sample = block.samples[static_cast<std::size_t>(k)];
  if (!gates_[s]) return step.run(sample, random, thread);
  // Isolated: should the step wait inside TBB, this thread must not take up a block that wants its
  // own turn.
  const Gate::Turn turn(*gates_[s]);
  Crew::isolate([&] { step.run(sample, random, thread); });
}

void BlockRunner::bind_rows(Block& block, std::int64_t k) const {
  std::byte* memory = block.flight->bind(pool_)->memory;
  const Layout& layout = plan_.layout;
  Sample& sample = block.samples[static_cast<std::size_t>(k)];
  for (const Layout::Field& field : layout.fields()) {
    if (field.spec.kind != FieldSpec::Kind::fixed) continue;
    std::byte* cell = layout.cell(memory, field.values, block.first + k);
    sample.bind_row(field.spec.name, Tensor::borrow(cell, field.spec.dtype, field.spec.shape));
  }
}

void BlockRunner::collate(Block& block, std::int64_t k) const {
  std::byte* memory = block.flight->bind(pool_)->memory;
  const Layout& layout = plan_.layout;
  const Sample& sample = block.samples[static_cast<std::size_t>(k)];
  for (std::size_t f = 0; f < layout.fields().size(); ++f) {
    const std::string rule =
        layout.store(memory, f, block.first + k, sample[layout.fields()[f].spec.name]);
    if (!rule.empty()) throw DataError(rule);
  }
  layout.set_valid(memory, block.first + k, true);
}

void BlockRunner::gather(Block& block, int thread) const {
  const std::int64_t begun = now_ns();
  const std::int64_t heap = recorder_.heap();
  const Layout& layout = plan_.layout;
  std::byte* memory = block.flight->bind(pool_)->memory;
  std::array<Rows::Column, most_gathered_fields> columns;
  const std::size_t fields = plan_.source_columns.size();
  for (std::size_t f = 0; f < fields; ++f) {
    const std::size_t column = plan_.source_columns[f];
    columns[f] = {layout.cell(memory, column, block.first), layout.columns()[column].row_bytes};
  }
  try {
    plan_.recipe.source->gather(block.indices, Rows(std::span(columns.data(), fields), block.rows));
    if (layout.has_valid()) {
      for (std::int64_t k = 0; k < block.rows; ++k)
        layout.set_valid(memory, block.first + k, true);
    }
  } catch (...) {
    gather_one_by_one(block, thread);
  }
  recorder_.keep(thread, plan_.read_stage(), heap);
  const std::int64_t took = now_ns() - begun;
  block.busy_ns += took;
  put_span(plan_.read_stage(), block, thread, begun);
  if (!recorder_.on()) return;
  recorder_.add(thread, plan_.read_stage(), block.rows, took);
  recorder_.add(thread, plan_.collate_stage(), block.rows, 0);
}

/// Finds the rows that spoiled a gather.
void BlockRunner::gather_one_by_one(Block& block, int thread) const {
  if (block.samples.size() < static_cast<std::size_t>(block.rows)) {
    block.samples.resize(static_cast<std::size_t>(block.rows));
  }
  NodePlan whole{.name = "read", .reads = true, .collates = true};
  for (std::int64_t k = 0; k < block.rows; ++k) {
    std::size_t stage = plan_.read_stage();
    try {
      plan_.recipe.source->read(block.indices[static_cast<std::size_t>(k)], fresh_sample(block, k));
      stage = plan_.collate_stage();
      collate(block, k);
    } catch (...) {
      handle(whole, block, k, stage, thread);
    }
  }
}

void BlockRunner::finish(Flight& flight) const {
  Slab* slab = flight.bind(pool_);
  for (std::int64_t row = flight.place.rows; row < flight.place.size; ++row) {
    plan_.layout.clear_row(slab->memory, row);
    plan_.layout.set_valid(slab->memory, row, false);
  }
  plan_.layout.pack_ragged(slab->memory, flight.place.size);
}

Origin BlockRunner::origin(const Block& block, std::int64_t k) const {
  Origin origin = origin_without_part(block, k);
  origin.part = plan_.recipe.source->part(origin.index);
  return origin;
}

Origin BlockRunner::origin_without_part(const Block& block, std::int64_t k) const {
  const BatchPlace& place = block.flight->place;
  Origin origin;
  origin.index = block.indices[static_cast<std::size_t>(k)];
  origin.epoch = place.epoch;
  origin.position = place.first + block.first + k;
  origin.batch = place.number;
  origin.row = block.first + k;
  return origin;
}

RandomKey BlockRunner::key(const Block& block, std::int64_t k, std::uint32_t operation) const {
  const BatchPlace& place = block.flight->place;
  return {.seed = plan_.seed,
          .loader = plan_.loader_hash,
          .epoch = place.epoch,
          .position = place.first + block.first + k,
          .operation = operation,
          .attempt = block.attempts[static_cast<std::size_t>(k)]};
}

}  // namespace headrace::inline v1::detail
