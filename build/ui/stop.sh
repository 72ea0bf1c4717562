#!/usr/bin/env bash
# Presses Stop in the window during prefill and while an answer grows, on a display of
# its own. The window's web view never cancels a request, so it asks the server how the
# requests ended. `go run ./build test ui` runs it and names the programs in the
# environment.
set -euo pipefail
. "$(dirname "$0")/window.sh"

# field NAME JSON prints a number of the first request in a state or a history.
field() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" <<<"$2" | head -1; }
# reading: a part of a prompt has been evaluated, but not all of it.
reading() {
  local state
  state=$(app state | sed 's/.*"active":\[//')
  local done total
  done=$(field prompt_done "$state") total=$(field prompt_tokens "$state")
  [ "${done:-0}" -gt 0 ] && [ "$done" -lt "$total" ] && echo "stopped with $done of $total prompt tokens evaluated" >"$files/reading"
}
writing() {
  local n
  n=$(field completion_tokens "$(app state | sed 's/.*"active":\[//')")
  [ "${n:-0}" -gt 8 ]
}
idle() { app state | grep -q '"active":\[\]'; }
# unlike FILE prints how many pixels of the window differ from a picture of it.
unlike() { picture | compare -metric AE "$1" - null: 2>&1 | awk '{ print int($1) }'; }
# settled: the window shows something new, and no longer changes. A blinking caret has
# fewer pixels than the limit.
settled() {
  [ "$(unlike "$files/before.png")" -gt 200 ] || return 1
  picture >"$files/now.png"
  sleep 0.3
  [ "$(unlike "$files/now.png")" -le 200 ]
}
# shown WHAT COMMAND... runs a command and waits until the window shows its effect.
shown() {
  picture >"$files/before.png" || fail "no picture of the window before $1"
  "${@:2}"
  wait_for 60 "$1" settled
}
keys() {
  timeout 10 xdotool windowfocus --sync "$(window)" || true # it may have the focus already
  xdotool key --clearmodifiers --delay 60 "$@"
}

files=$(mktemp -d)
openbox >/dev/null 2>&1 &
desktop=$!
"$TANDEM" serve --addr 127.0.0.1:0 --model pocket >/dev/null 2>"$files/serve" &
server=$!
wait_for 60 'server' ready
app welcome -H 'Content-Type: application/json' -d '{"done":true}' >/dev/null || fail 'the first steps stay'
"$WINDOW" --follow &
face=$!
trap 'kill $face $server $desktop 2>/dev/null || true; rm -rf "$files"' EXIT
wait_for 60 'window' window
wait_for 60 'text in the window' painted

# With the keyboard alone. A new completion has the focus in its code. The demo's answers are too
# short to stop. The panel is open, and its key closes and opens it. After the code and its button
# come the panel's fields: the third one limits the length. Each step waits for the one before: a key
# that comes before the panel goes elsewhere.
keys ctrl+shift+n
shown 'closed panel' keys ctrl+alt+i
shown 'open panel' keys ctrl+alt+i
shown 'limit' keys Tab Tab Tab Tab 3 0 0 0 0
keys shift+Tab shift+Tab shift+Tab shift+Tab

# ask FILE replaces the code with a file and continues it.
ask() {
  xclip -selection clipboard -i "$1"
  shown 'code' keys ctrl+a ctrl+v
  keys ctrl+Return
}

# Code that is new to the model, with more chunks than are read in a moment.
for i in $(seq 900); do printf 'func f%d(a int) int { return a*%d + %d }\n' "$i" "$((i * 7919 % 1009))" "$((i * 104729 % 7907))"; done >"$files/long.go"
ask "$files/long.go"
wait_for 60 'prompt being read' reading
keys Escape
wait_for 60 'end of the request' idle
run=$(app 'runs?limit=1')
cat "$files/reading"
grep -q '"max_tokens":30000' <<<"$(app chats/1)" || fail "the limit was not taken: $(app chats | head -c 400)"
grep -q '"finish_reason":"cancel"' <<<"$run" || fail "stopped in prefill it ended as $run"
[ "$(field completion_tokens "$run")" = 0 ] || fail "stopped in prefill it answered: $run"

# Lines without an end: the answer is stopped while it grows, and its beginning is
# kept. If the model ends it earlier, it answers again.
for i in $(seq 40); do printf '\tcase %d:\n\t\treturn "%d"\n' "$i" "$i"; done >"$files/list.go"
ask "$files/list.go"
again=0 # when to ask again if nothing has come of it: the page hears of an end a little later
until writing; do
  run=$(app 'runs?limit=1')
  if grep -q '"finish_reason":"\(stop\|length\)"' <<<"$run" && idle && [ $SECONDS -ge $again ]; then
    [ "$(field id "$run")" -lt 12 ] || fail 'the model ends each answer by itself'
    keys ctrl+Return
    again=$((SECONDS + 2))
  fi
  [ $SECONDS -lt 300 ] || fail 'no answer that grows'
  sleep 0.02
done
timeout 10 import -window root "$OUT/stop.png" || true
keys Escape
wait_for 60 'end of the request' idle
run=$(app 'runs?limit=1')
grep -q '"finish_reason":"cancel"' <<<"$run" || fail "stopped in its answer it ended as $run"
echo "stopped after $(field completion_tokens "$run") tokens of an answer"
wait_for 60 'kept answer' sh -c "curl -sf --unix-socket '$TANDEM_HOME/run/control.sock' http://tandem/app/chats/1 | grep -q '\"finish\":\"stopped\"'"
echo 'all is well'
