# Sourced by the scripts beside it.

# Two tests run at a time: a thread that waits leaves its core to the other.
export OMP_WAIT_POLICY=passive

# Runs a command and says how long it took.
stage() {
  local started=$SECONDS
  "$@"
  echo "stage: $((SECONDS - started)) s for $*"
}
