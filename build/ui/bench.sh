#!/usr/bin/env bash
# Measures what the menu bar and the window take, on a display of its own:
# - the time until the endpoint answers, and until the window is there;
# - the time until a minimised window shows, and until a closed one is there again
#   while the server runs;
# - the processor's time while nothing happens.
# Each figure with a bar says whether it is met. The exit code is 1 if one is missed.
# `go run ./build bench desktop` runs it and names the programs in the environment.
set -euo pipefail
. "$(dirname "$0")/window.sh"

openbox >/dev/null 2>&1 &
rounds=${ROUNDS:-5}
idle=${IDLE:-60} # seconds

now() { echo $(($(date +%s%N) / 1000000)); }
healthy() { curl -sf "$(app state | sed 's/.*"address":"\([^"]*\)".*/\1/')/health"; }
median() { printf '%s\n' "$@" | sort -n | sed -n "$((rounds / 2 + 1))p"; }
missed=0
# bar WHAT FIGURE MOST UNIT prints a figure and whether it is at most MOST.
bar() {
  local verdict=met
  awk -v n="$2" -v most="$3" 'BEGIN { exit !(n <= most) }' || verdict=missed missed=1
  echo "$1: $2 $4; $3 $4 at most: $verdict"
}
# ticks PID... prints the user and system time of processes, in clock ticks.
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
  answers=$(mktemp)
  began=$(now)
  "$MENUBAR" --program "$TANDEM" --window "$WINDOW" -- --addr 127.0.0.1:0 >/dev/null 2>&1 &
  menubar=$!
  (wait_for 60 'healthy' healthy && now >"$answers") & # at the same time: the window does not wait for the server
  asking=$!
  wait_for 60 'window' window
  seen=$(($(now) - began))
  wait_for 60 'painted' painted
  shown+=($(($(now) - began)))
  wait $asking
  ready+=($(($(<"$answers") - began)))
  rm "$answers"
  xdotool windowminimize "$(window)"
  wait_for 60 'no_window' no_window
  sleep 1
  began=$(now)
  "$MENUBAR" --program "$TANDEM" --window "$WINDOW"
  wait_for 60 'window' window
  raised+=($(($(now) - began)))
  wait_for 60 'closed' closed
  sleep 1
  began=$(now)
  "$MENUBAR" --program "$TANDEM" --window "$WINDOW"
  wait_for 60 'window' window
  there=$(($(now) - began))
  wait_for 60 'painted' painted
  again+=($(($(now) - began)))
  echo "round $round: healthy ${ready[-1]} ms, window $seen ms, painted ${shown[-1]} ms; minimised: there ${raised[-1]} ms; closed: window $there ms, painted ${again[-1]} ms"
  if [ "$round" = $rounds ]; then
    wait_for 60 'closed' closed
    server=$(pid)
    sleep 5
    before=$(ticks $menubar "$server")
    m=$(ticks $menubar)
    sleep $idle
    after=$(ticks $menubar "$server")
    per=$(getconf CLK_TCK)
    share() { awk -v t="$1" -v per="$per" -v s=$idle 'BEGIN { printf "%.2f", 100 * t / per / s }'; }
    resting=$(share $((after - before)))
    echo "idle for $idle s: the menu bar $(share $(($(ticks $menubar) - m))) % of a core"
  fi
  kill -TERM $menubar
  wait $menubar || true
  rm -rf "$TANDEM_HOME"
done
echo "medians of $rounds:"
bar "endpoint ready" "$(median "${ready[@]}")" 1500 ms
bar "window painted" "$(median "${shown[@]}")" 1500 ms
bar "minimised and there" "$(median "${raised[@]}")" 300 ms
bar "closed and painted again" "$(median "${again[@]}")" 1500 ms
bar "menu bar and server, idle" "$resting" 0.5 "% of a core"
exit $missed
