#include <headrace/benchmarks/mechanics/serve.h>

#include <array>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>

namespace headrace::inline v1::bench {

namespace {

using training::Precision;

Precision precision_of(const std::string& word) {
  for (const Precision each : {Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp16})
    if (word == training::name_of(each)) return each;
  throw std::invalid_argument("\"" + word + "\" is no precision");
}

/// The trainees that were asked for.
class Trainees {
 public:
  explicit Trainees(const Workload& workload) : workload_(workload) {}

  double answer(const std::string& line) {
    if (line == parameters_request)
      return static_cast<double>(models::parameter_count(*workload_.course->network()));
    std::istringstream words(line);
    std::string precision, layout;
    int steps = 0;
    words >> precision >> layout >> steps;
    auto& trainee = known_[precision + layout];
    if (!trainee)
      trainee =
          std::make_unique<Trainee>(workload_, Setting{.precision = precision_of(precision),
                                                       .channels_last = layout != "contiguous",
                                                       .cudnn_benchmark = true});
    return trainee->rate(steps);
  }

 private:
  const Workload& workload_;
  std::map<std::string, std::unique_ptr<Trainee>> known_;
};

}  // namespace

std::string rate_request(const Setting& setting, int steps) {
  return std::string(training::name_of(setting.precision)) +
         (setting.channels_last ? " channels-last " : " contiguous ") + std::to_string(steps);
}

void serve(const Workload& workload) {
  Trainees trainees(workload);
  std::cout.precision(12);
  for (std::string line; std::getline(std::cin, line);) {
    try {
      std::cout << trainees.answer(line) << std::endl;
    } catch (const std::exception& error) {
      const std::string what = error.what();
      std::cout << no_figure << what.substr(0, what.find('\n')) << std::endl;
    }
  }
}

}  // namespace headrace::inline v1::bench
