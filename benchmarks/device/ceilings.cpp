#include <headrace/benchmarks/device/sections.h>

#include <memory>

namespace headrace::inline v1::bench {

namespace {

struct Buffers {
  Memory here, there;  // of the device
  Memory out, back;    // page-locked
  Memory pageable;
};

}  // namespace

void measure_ceilings(const Bench& bench) {
  Side& side = bench.side;
  for (const std::size_t bytes : bench.extent.sizes) {
    const Buffers memory{.here = side.here(bytes),
                         .there = side.here(bytes),
                         .out = side.of_host(bytes, true),
                         .back = side.of_host(bytes, true),
                         .pageable = side.of_host(bytes, false)};
    const auto to_device = [&](const Memory& from) {
      side.copy(memory.here.data(), from.data(), bytes, Way::to_device, side.stream());
    };
    const auto to_host = [&](Stream on) {
      side.copy(memory.back.data(), memory.there.data(), bytes, Way::to_host, on);
    };
    const std::string locked = "host to device, page-locked";
    const std::vector<Measured> contenders = {
        rate_of(bench, locked, bytes, [&] { to_device(memory.out); }),
        rate_of(bench, "host to device, pageable", bytes, [&] { to_device(memory.pageable); }),
        rate_of(bench, "device to host, page-locked", bytes, [&] { to_host(side.stream()); }),
        rate_of(bench, "both ways at once, page-locked", 2 * bytes,
                [&] {
                  side.order(side.copies(), side.stream());
                  to_host(side.copies());
                  to_device(memory.out);
                  side.order(side.stream(), side.copies());
                }),
        rate_of(bench, "within the device, read and written", 2 * bytes, [&] {
          side.copy(memory.there.data(), memory.here.data(), bytes, Way::on_device, side.stream());
        })};
    bench.report.add("bare copies of " + in_megabytes(bytes), "GB/s",
                     compare_measured(contenders, bench.extent.repeats), locked);
  }
}

}  // namespace headrace::inline v1::bench
