#include <headrace/augment/degrade.h>
#include <headrace/augment/detail/picture.h>
#include <headrace/engine/base/error.h>

namespace headrace::inline v1 {

Schema Degrade::schema(const Schema& in) const {
  detail::check_probability(p, name());
  const double sum = noise_weight + blur_weight + motion_weight;
  if (!(noise_weight >= 0 && blur_weight >= 0 && motion_weight >= 0 && sum > 0 && sum < 1e9)) {
    throw ConfigError("[degrade] weights must not be negative, and one above 0, got " +
                      std::to_string(noise_weight) + ", " + std::to_string(blur_weight) + ", " +
                      std::to_string(motion_weight) + "; leave it out for none");
  }
  if (noise_weight > 0) noise.schema(in);
  if (blur_weight > 0) blur.schema(in);
  if (motion_weight > 0) motion.schema(in);
  return in;
}

std::size_t Degrade::working_bytes(const Schema& in) const {
  return (blur_weight > 0 ? blur.working_bytes(in) : 0) +
         (motion_weight > 0 ? motion.working_bytes(in) : 0);
}

void Degrade::operator()(Sample& sample, Random& random) const {
  if (!random.chance(p)) return;
  const double drawn = random.uniform() * (noise_weight + blur_weight + motion_weight);
  // What is drawn may be rounded to the sum.
  if (drawn < noise_weight || blur_weight + motion_weight == 0) return noise(sample, random);
  if (drawn < noise_weight + blur_weight || motion_weight == 0) return blur(sample, random);
  motion(sample, random);
}

}  // namespace headrace::inline v1
