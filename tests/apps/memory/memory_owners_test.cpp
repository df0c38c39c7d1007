#include <headrace/apps/memory/memory_owners.h>
#include <headrace/engine/base/literals.h>

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace::app;
using namespace headrace::literals;
using headrace::LoaderHolding;

namespace {

constexpr auto kept_mib = static_cast<std::int64_t>(1_MiB);

MemoryPlan plan() {
  PlannedStage small{.name = "warm"};
  small.host.add("weights", 1_MiB);
  PlannedStage stage{.name = "all"};
  stage.host.add("data in memory", 20_MiB);
  stage.host.add("decoded cache", 30_MiB);
  stage.host.add("training: slabs", 32_MiB);
  stage.host.add("evaluation: samples between read and collate", 8_MiB);
  stage.host.add("process as it is", 100_MiB);
  stage.host.add("weights", 10_MiB);
  stage.host.add("activations, workspace, losses", 40_MiB);
  stage.host.add("LibTorch beside tensors", 16_MiB);
  stage.host.add("copy for checkpoints", 10_MiB);
  return {.stages = {small, stage}, .host_limit = {.bytes = 1000_MiB, .source = "configuration"}};
}

// All as planned, of one loader.
HeldNow as_planned() {
  return {.process = 266_MiB,
          .tensors = 60_MiB,
          .caches = 30_MiB,
          .loaders = {{.loader = "train",
                       .bytes = 40_MiB,
                       .stages = {{.name = "read", .kept = 2 * kept_mib},
                                  {.name = "decode", .kept = 1 * kept_mib},
                                  {.name = "flip", .kept = -3 * kept_mib}}}}};
}

const MemoryOwner* find(const std::vector<MemoryOwner>& owners, const std::string& part) {
  for (const MemoryOwner& owner : owners)
    if (owner.name.find(part) != std::string::npos) return &owner;
  return nullptr;
}

}  // namespace

TEST_CASE("each owner stands beside its plan, that of the largest stage, most first") {
  const std::vector<MemoryOwner> owners = memory_owners(plan(), as_planned());
  REQUIRE(owners.size() == 5);
  CHECK(owners[0].name == "the process, libraries, heap");
  CHECK(owners[0].planned == 116_MiB);
  CHECK(owners[0].bytes == 116_MiB);
  CHECK(owners[1].name == "tensors");
  CHECK(owners[1].planned == 60_MiB);
  CHECK(owners[2].name == "loaders");
  CHECK(owners[2].planned == 40_MiB);
  CHECK(owners[3].name == "decoded caches");
  CHECK(owners[4].name == "data in memory");
  CHECK(to_text(owners).ends_with("  all of it as planned"));
}

TEST_CASE("a step that keeps what it takes is named, and what another gives back is not its own") {
  HeldNow now = as_planned();
  now.process += 500_MiB;
  now.loaders.front().stages.push_back({.name = "leaky", .kept = 500 * kept_mib});
  const std::vector<MemoryOwner> owners = memory_owners(plan(), now);
  CHECK(owners.front().name == "step \"leaky\" of train, which keeps what it takes");
  CHECK(owners.front().bytes == 500_MiB);
  CHECK(find(owners, "\"decode\"") == nullptr);  // what "flip" gives back
  CHECK(find(owners, "the process")->bytes <= 116_MiB);
  CHECK(to_text(owners).ends_with(
      "  most beyond the plan: step \"leaky\" of train, which keeps what it takes, 500 MiB"));
}

TEST_CASE("what a step gives back is that of the step that took it, however much it is") {
  HeldNow now = as_planned();
  now.process += 500_MiB;
  now.loaders.front().stages = {{.name = "read", .kept = -9000 * kept_mib},
                                {.name = "decode", .kept = 9000 * kept_mib},
                                {.name = "leaky", .kept = 500 * kept_mib}};
  const std::vector<MemoryOwner> owners = memory_owners(plan(), now);
  CHECK(find(owners, "leaky")->bytes == 500_MiB);
  CHECK(find(owners, "decode\"") == nullptr);
}

TEST_CASE("no step is said to keep more than is there") {
  HeldNow now = as_planned();
  now.loaders.front().stages.push_back({.name = "leaky", .kept = 5000 * kept_mib});
  CHECK(find(memory_owners(plan(), now), "leaky")->bytes <= 116_MiB);
}

TEST_CASE("tensors that outgrow their plan are named") {
  HeldNow now = as_planned();
  now.process += 70_MiB;
  now.tensors += 70_MiB;
  CHECK(to_text(memory_owners(plan(), now)).ends_with("most beyond the plan: tensors, 70.0 MiB"));
}
