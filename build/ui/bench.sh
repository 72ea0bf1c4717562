#!/usr/bin/env bash
# What the menu bar and the window take, on a display of its own: time until the
# endpoint answers, until the window is there, until one that is minimised shows
# itself, until one that was closed is there again while the server runs, and the
# processor's time while nobody does anything. It is run by
# `go run ./build bench desktop`, which says by the environment where the programs are.
set -euo pipefail

openbox >/dev/null 2>&1 &
rounds=${ROUNDS:-5}
idle=${IDLE:-60} # seconds

now() { echo $(($(date +%s%N) / 1000000)); }
window() { xdotool search --onlyvisible --name '^Tandem$'; }
no_window() { ! window; }
# closed asks the window to close, as a person does, until there is none. A busy
# window manager may miss a key.
closed() {
  no_window && return
  timeout 1 xdotool windowactivate --sync "$(window)" key alt+F4 || true # it may go meanwhile
  sleep 0.3
  no_window
}
# painted: the window shows text, and not one plain colour.
painted() {
  local id colours
  id=$(window) && colours=$(import -window "$id" png:- | identify -format %k png:-) && [ "$colours" -gt 50 ]
}
state() { curl -sf --unix-socket "$TANDEM_HOME/run/control.sock" http://tandem/app/state; }
healthy() { curl -sf "$(state | sed 's/.*"address":"\([^"]*\)".*/\1/')/health"; }
# until COMMAND succeeds, for a minute at most.
until_ok() {
  local end=$((SECONDS + 60))
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || { echo "$* does not come true" >&2; exit 1; }
    sleep 0.01
  done
}
median() { sort -n | sed -n "$((rounds / 2 + 1))p"; }
# ticks of processes: user and system time, in clock ticks.
ticks() {
  local sum=0 pid fields
  for pid in "$@"; do
    fields=$(sed 's/.*) //' "/proc/$pid/stat")
    set -- $fields
    sum=$((sum + ${12} + ${13}))
  done
  echo $sum
}

ready=() shown=() raised=() again=()
for round in $(seq $rounds); do
  TANDEM_HOME=$(mktemp -d)
  export TANDEM_HOME
  began=$(now)
  "$MENUBAR" --program "$TANDEM" --window "$WINDOW" -- --addr 127.0.0.1:0 >/dev/null 2>&1 &
  menubar=$!
  until_ok healthy
  ready+=($(($(now) - began)))
  until_ok window
  seen=$(($(now) - began))
  until_ok painted
  shown+=($(($(now) - began)))
  xdotool windowminimize "$(window)"
  until_ok no_window
  sleep 1
  began=$(now)
  "$MENUBAR" --program "$TANDEM" --window "$WINDOW"
  until_ok window
  raised+=($(($(now) - began)))
  until_ok closed
  sleep 1
  began=$(now)
  "$MENUBAR" --program "$TANDEM" --window "$WINDOW"
  until_ok window
  there=$(($(now) - began))
  until_ok painted
  again+=($(($(now) - began)))
  echo "round $round: healthy ${ready[-1]} ms, window $seen ms, painted ${shown[-1]} ms; minimised: there ${raised[-1]} ms; closed: window $there ms, painted ${again[-1]} ms"
  if [ "$round" = $rounds ]; then
    until_ok closed
    server=$(state | sed 's/.*"pid":\([0-9]*\).*/\1/')
    sleep 5
    before=$(ticks $menubar "$server")
    m=$(ticks $menubar)
    sleep $idle
    after=$(ticks $menubar "$server")
    per=$(getconf CLK_TCK)
    awk -v t=$((after - before)) -v m=$(($(ticks $menubar) - m)) -v per="$per" -v s=$idle \
      'BEGIN { printf "idle for %d s: %.2f %% of a core, the menu bar %.2f %% of that\n", s, 100 * t / per / s, 100 * m / per / s }'
  fi
  kill -TERM $menubar
  wait $menubar || true
  rm -rf "$TANDEM_HOME"
done
echo "medians of $rounds: endpoint ready $(printf '%s\n' "${ready[@]}" | median) ms, window painted $(printf '%s\n' "${shown[@]}" | median) ms, minimised and there $(printf '%s\n' "${raised[@]}" | median) ms, closed and painted again $(printf '%s\n' "${again[@]}" | median) ms"
