#include <headrace/engine/base/error.h>
#include <headrace/models/networks/detail/image_checks.h>

#include <sstream>
#include <string>

namespace headrace::inline v1::models::detail {

namespace {

bool is_side(std::int64_t side, std::int64_t divisor) {
  return side > 0 && side % divisor == 0;
}

}  // namespace

void check_images(const char* who, const at::Tensor& images, const ImageRule& rule) {
  if (images.dim() == 4 && images.size(1) == rule.channels &&
      is_side(images.size(2), rule.side_divisor) && is_side(images.size(3), rule.side_divisor))
    return;
  std::ostringstream message;
  message << '[' << who << "] images must be [N, " << rule.channels << ", H, W]";
  if (rule.side_divisor > 1)
    message << " with H and W multiples of " << rule.side_divisor << ", got " << images.sizes()
            << "; resize, crop or pad them";
  else
    message << ", got " << images.sizes();
  throw DataError(message.str());
}

void check_classes(const char* who, std::int64_t classes) {
  if (classes < 1)
    throw ConfigError('[' + std::string(who) + "] needs at least 1 class, got " +
                      std::to_string(classes));
}

}  // namespace headrace::inline v1::models::detail
