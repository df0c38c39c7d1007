#pragma once

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace headrace::inline v1 {

/// An event behind all that the calling thread has queued for `device`, a GPU. Nothing waits.
inline c10::Event event_behind(at::Device device) {
  const c10::impl::VirtualGuardImpl guard(device.type());
  c10::Event event(device.type());
  event.record(guard.getStream(device));
  return event;
}

}  // namespace headrace::inline v1
