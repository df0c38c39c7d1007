#include <headrace/benchmarks/harness/harness.h>
#include <headrace/benchmarks/peers/images/serve.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>

namespace headrace::inline v1::bench {

Request::Request(int argc, char** argv) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const char* value = argv[i + 1];
    if (name == "--data") {
      data = value;
    } else if (name == "--variant") {
      variant = value;
    } else if (name == "--batches") {
      batches = std::atoll(value);
    } else if (name == "--batch") {
      batch = std::atoll(value);
    } else if (name == "--threads") {
      threads = std::atoi(value);
    } else if (name == "--cache") {
      cache = value;
    } else {
      std::fprintf(stderr, "unknown argument %s\n", name.c_str());
      std::exit(2);
    }
  }
  if (!data.empty()) return;
  std::fprintf(stderr, "a contender of run; see benchmarks/peers/images/run --help\n");
  std::exit(2);
}

namespace {

void one_epoch(const Request& request, const std::function<void(const OnBatch&)>& epoch,
               bool first) {
  const std::int64_t edge = std::max<std::int64_t>(1, request.batches / 8);
  std::int64_t count = 0;
  double begun = 0;
  double ended = 0;
  epoch([&] {
    ++count;
    if (count == 1 && first) {
      std::printf("{\"first\": %.6f}\n", seconds());
      std::fflush(stdout);
    }
    if (count == edge) begun = seconds();
    if (count == request.batches - edge) ended = seconds();
  });
  if (count != request.batches) {
    std::fprintf(stderr, "%lld batches came, %lld were asked for\n", static_cast<long long>(count),
                 static_cast<long long>(request.batches));
    std::exit(1);
  }
  if (first) {
    std::printf("{\"ready\": true}\n");
  } else {
    std::printf("{\"images\": %lld, \"seconds\": %.6f, \"all_images\": %lld}\n",
                static_cast<long long>(request.batch * (request.batches - 2 * edge)), ended - begun,
                static_cast<long long>(request.batch * request.batches));
  }
  std::fflush(stdout);
}

}  // namespace

int serve(const Request& request, const std::function<void(const OnBatch&)>& epoch) {
  one_epoch(request, epoch, true);
  for (std::string line; std::getline(std::cin, line);)
    one_epoch(request, epoch, false);
  return 0;
}

int serve_whole(const Request& request, const std::function<double()>& run) {
  run();
  std::printf("{\"first\": %.6f}\n{\"ready\": true}\n", seconds());
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    const auto images = static_cast<long long>(request.batch * request.batches);
    std::printf("{\"images\": %lld, \"seconds\": %.6f, \"all_images\": %lld}\n", images, run(),
                images);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace headrace::inline v1::bench
