# Functions for the window on the display. The scripts of this folder source it.

window() { xdotool search --onlyvisible --name '^Tandem$'; }
no_window() { ! window; }
# picture prints a picture of the window. One of a window that goes or moves meanwhile may take forever.
picture() {
  local id
  id=$(window) && timeout 10 import -window "$id" png:-
}
# painted: the window shows text, and not one plain colour.
painted() {
  local colours
  colours=$(picture | identify -format %k png:-) && [ "$colours" -gt 50 ]
}
# closed asks the window to close, as a person does, until there is none. It repeats
# the key, because a busy window manager may miss one.
closed() {
  no_window && return
  timeout 1 xdotool windowactivate --sync "$(window)" key alt+F4 || true # it may go meanwhile
  sleep 0.3
  no_window
}
app() { curl -sf --unix-socket "$TANDEM_HOME/run/control.sock" "http://tandem/app/$1" "${@:2}"; }
ready() { app state | grep -q '"phase":"ready"'; }
pid() { app state | sed 's/.*"pid":\([0-9]*\).*/\1/'; }

fail() {
  echo "FAILED: $*" >&2
  timeout 5 import -window root "$OUT/failed-$(basename "$0" .sh).png" || true
  exit 1
}

# wait_for SECONDS WHAT COMMAND... until the command succeeds.
wait_for() {
  local limit=$1 what=$2
  shift 2
  local end=$((SECONDS + limit))
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || fail "no $what within $limit s"
    sleep 0.01
  done
}
