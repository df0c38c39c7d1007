#pragma once

// Every job, a line each: `job(name)` is expanded for each in turn. In its room, apps/jobs/<name>,
// `Job <name>_job()` is defined. CMake has the same list in apps/jobs/CMakeLists.txt.
// clang-format off
#define HEADRACE_JOBS(job) \
  job(classification) \
  job(segmentation) \
  job(glaucoma) \
  job(leak) \
  job(retinopathy) \
  job(camouflage) \
  job(surface) \
  /* the end */
