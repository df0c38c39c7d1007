#include <headrace/apps/feed/prepare_pictures.h>

namespace headrace::inline v1::app {

std::size_t PreparePictures::working_bytes(const Schema& in) const {
  std::size_t sum = 0;
  for (const Step& step : steps_)
    if (step.working_bytes) sum += step.working_bytes(in);
  return sum;
}

void PreparePictures::operator()(Sample& sample) const {
  for (const Step& step : steps_)
    step.run(sample);
}

}  // namespace headrace::inline v1::app
