# shellcheck shell=bash
# To be sourced. own_mounts <command...>: in a mount namespace of its own; false where there is none.
# The root of a chroot is no mount point whose propagation could be changed: there what is mounted may be
# seen outside too, so the command takes it down itself.
own_mounts() {
  local propagation
  for propagation in private unchanged; do
    unshare --mount --propagation "$propagation" true 2>/dev/null || continue
    unshare --mount --propagation "$propagation" "$@"
    return
  done
  return 1
}
