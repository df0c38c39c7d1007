// What LibTorch's allocator of a GPU is told before it begins.
#include <headrace/apps/memory/allocator_settings.h>
#include <headrace/engine/base/literals.h>
#include <headrace/tests/apps/pseudo_terminal.h>

#include <cstdint>

#include <doctest/doctest.h>

using namespace headrace::app;
using namespace headrace::literals;
using headrace::test::Environment;

TEST_CASE("segments grow, where nobody has said anything of the allocator") {
  CHECK(allocator_environment({}) == "expandable_segments:True");
  CHECK_FALSE(allocator_environment({.cuda = "max_split_size_mb:64"}).has_value());
  CHECK_FALSE(allocator_environment({.any = "expandable_segments:False"}).has_value());
  CHECK_FALSE(allocator_environment({.cuda = ""}).has_value());
}

TEST_CASE("both variables are read, and of both the one for CUDA goes first") {
  const Environment cuda("PYTORCH_CUDA_ALLOC_CONF", nullptr);
  const Environment any("PYTORCH_ALLOC_CONF", nullptr);
  CHECK_FALSE(allocator_variables().cuda.has_value());
  CHECK(allocator_variables().settings().empty());
  const Environment set_any("PYTORCH_ALLOC_CONF", "max_split_size_mb:64");
  CHECK(allocator_variables().settings() == "max_split_size_mb:64");
  const Environment set_cuda("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:False");
  CHECK(allocator_variables().settings() == "expandable_segments:False");
  CHECK(allocator_variables().any == "max_split_size_mb:64");
}

TEST_CASE("the share of a GPU stands behind what was set, and is never above what was asked for") {
  CHECK(settings_with_share("", 8_GiB, 16_GiB) == "per_process_memory_fraction:0.500000");
  CHECK(settings_with_share("expandable_segments:True", 10_GiB, 15_GiB) ==
        "expandable_segments:True,per_process_memory_fraction:0.666666");
  for (const std::uint64_t bytes : {std::uint64_t{0}, 16_GiB, 17_GiB})
    CHECK(settings_with_share("", bytes, 16_GiB) == "per_process_memory_fraction:1.000000");
}

TEST_CASE("a share that a person has set stays") {
  const char* own = "per_process_memory_fraction:0.25,expandable_segments:True";
  CHECK(settings_with_share(own, 8_GiB, 16_GiB) == own);
}
