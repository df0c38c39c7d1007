// What happens to rows that failed: the part of BlockRunner that a healthy run never enters.
#include <headrace/engine/base/error.h>
#include <headrace/engine/loader/detail/block_runner.h>

#include <new>
#include <string>
#include <utility>

namespace headrace::inline v1::detail {

namespace {

struct Caught {
  std::exception_ptr error = std::current_exception();
  std::string text;
  bool about_data = false;  ///< the rule for bad samples applies
  bool about_configuration = false;
  bool about_resources = false;
  bool about_device = false;

  Caught() {
    try {
      std::rethrow_exception(error);
    } catch (const std::bad_alloc&) {
      text =
          "there is no memory for it (std::bad_alloc); use fewer threads, smaller batches or less "
          "prefetch";
      about_resources = true;
    } catch (const std::exception& e) {
      text = e.what();
      about_resources = dynamic_cast<const ResourceError*>(&e) != nullptr;
      about_device = dynamic_cast<const DeviceError*>(&e) != nullptr;
      about_configuration = dynamic_cast<const ConfigError*>(&e) != nullptr;
      about_data = !about_resources && !about_device && !about_configuration &&
                   dynamic_cast<const PipelineError*>(&e) == nullptr;
    } catch (...) {
      text = "an exception that is no std::exception";
    }
  }
};

}  // namespace

std::exception_ptr with_stage(const std::string& stage, const Origin& origin,
                              const std::exception_ptr& cause,
                              const std::string& way_out) noexcept {
  try {
    try {
      std::rethrow_exception(cause);
    } catch (...) {
      const Caught caught;
      const DataError error(stage, origin, caught.text + way_out);
      if (caught.about_configuration) std::throw_with_nested(ConfigError(error.what()));
      if (caught.about_resources) std::throw_with_nested(ResourceError(error.what()));
      if (caught.about_device) std::throw_with_nested(DeviceError(error.what()));
      std::throw_with_nested(error);
    }
  } catch (...) {
    return std::current_exception();
  }
}

void BlockRunner::handle(const NodePlan& node, Block& block, std::int64_t k, std::size_t stage,
                         int thread) const noexcept {
  recorder_.fail(thread, stage);
  try {
    judge(node, block, k, stage, thread);
  } catch (...) {
    fail(block, k,
         with_stage(plan_.stages[stage].name, origin_without_part(block, k),
                    std::current_exception()));
  }
}

/// What the rule for bad samples says about the exception at hand.
void BlockRunner::judge(const NodePlan& node, Block& block, std::int64_t k, std::size_t stage,
                        int thread) const {
  const Caught caught;
  BadSampleLog::Case bad = bad_case(block, k, stage, caught.text);
  try {
    const BadSamples& settings = plan_.recipe.bad_samples;
    const BadSamples::Rule rule = settings.rule;
    if (rule == BadSamples::Rule::fail || !caught.about_data) {
      note(block, bad);
      const bool may_go_on = caught.about_data && !settings.setting.empty();
      const std::string way_out = may_go_on
                                      ? "; mend the file, or set " + settings.setting +
                                            ".rule: replace to take another record in its place"
                                      : std::string();
      fail(block, k, with_stage(bad.stage, bad.origin, caught.error, way_out));
    } else if (rule == BadSamples::Rule::shrink) {
      shrink(block, k, bad);
    } else {
      replace(node, block, k, bad, thread);
    }
  } catch (...) {
    fail(block, k, with_stage(bad.stage, bad.origin, std::current_exception()));
  }
}

/// File and part are left out where the source cannot say them: the cause matters more.
BadSampleLog::Case BlockRunner::bad_case(const Block& block, std::int64_t k, std::size_t stage,
                                         std::string cause) const {
  BadSampleLog::Case bad{.stage = plan_.stages[stage].name,
                         .origin = origin_without_part(block, k),
                         .cause = std::move(cause)};
  try {
    bad.origin.part = plan_.recipe.source->part(bad.origin.index);
    bad.origin.file = plan_.recipe.source->origin(bad.origin.index);
  } catch (...) {
    return bad;
  }
  return bad;
}

void BlockRunner::fail(Block& block, std::int64_t k, std::exception_ptr error) const {
  block.attempts[static_cast<std::size_t>(k)] = Block::dead;
  block.flight->fail(block.first + k, std::move(error));
}

/// For the time when the batch is delivered.
void BlockRunner::note(Block& block, const BadSampleLog::Case& bad) const {
  std::lock_guard lock(block.flight->mutex);
  block.flight->bad.push_back(bad);
}

void BlockRunner::shrink(Block& block, std::int64_t k, const BadSampleLog::Case& bad) const {
  note(block, bad);
  std::byte* memory = block.flight->bind(pool_)->memory;
  plan_.layout.clear_row(memory, block.first + k);
  plan_.layout.set_valid(memory, block.first + k, false);
  block.attempts[static_cast<std::size_t>(k)] = Block::dead;
}

void BlockRunner::replace(const NodePlan& node, Block& block, std::int64_t k,
                          BadSampleLog::Case bad, int thread) const {
  const auto at = static_cast<std::size_t>(k);
  const auto attempts = static_cast<std::uint32_t>(plan_.recipe.bad_samples.attempts);
  Activity& activity = recorder_.activity(thread);
  while (block.attempts[at] < attempts) {
    const std::uint32_t attempt = block.attempts[at] + 1;
    bad.replacement = replacement(block, k, attempt);
    note(block, bad);
    block.attempts[at] = attempt;
    block.indices[at] = bad.replacement;
    std::size_t stage = plan_.read_stage();
    activity.at_row(block.first + k, bad.origin.position, bad.replacement);
    try {
      activity.enter(stage);
      read(block, k);
      if (plan_.io && !node.reads) bind_rows(block, k);
      for (std::size_t s = 0; s < node.last_step; ++s) {
        stage = plan_.step_stage(s);
        activity.enter(stage);
        step(s, block, k, thread);
      }
      stage = plan_.collate_stage();
      if (node.collates) collate(block, k);
      std::lock_guard lock(block.flight->mutex);
      block.flight->replaced.emplace_back(block.first + k, bad.replacement);
      return;
    } catch (const std::exception&) {
      const Caught again;
      recorder_.fail(thread, stage);
      if (!again.about_data) throw;
      bad = bad_case(block, k, stage, again.text);
    }
  }
  bad.replacement = -1;
  bad.cause += "; " + std::to_string(attempts) + " replacements failed too";
  note(block, bad);
  fail(block, k, std::make_exception_ptr(DataError(bad.stage, bad.origin, bad.cause)));
}

std::int64_t BlockRunner::replacement(const Block& block, std::int64_t k,
                                      std::uint32_t attempt) const {
  RandomKey key = this->key(block, k, static_cast<std::uint32_t>(hash_name("replacement")));
  key.attempt = attempt;
  return Random(key).below(plan_.recipe.source->size());
}

}  // namespace headrace::inline v1::detail
