#include "train.h"

#include <omp.h>

namespace embed {

int net_threads() {
  return omp_get_max_threads();
}

}  // namespace embed
