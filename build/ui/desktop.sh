#!/usr/bin/env bash
# Does what a user does with the menu bar and the window, on a display of its own:
# start, second start, close, open again, kill the server, quit, crashes, the window
# by itself. `go run ./build test ui` runs it and names the programs in the environment.
set -euo pipefail
. "$(dirname "$0")/window.sh"

gone() { ! kill -0 "$1" 2>/dev/null; }

openbox &
start() { "$MENUBAR" --program "$TANDEM" --window "$WINDOW" "$@" -- --addr 127.0.0.1:0 & }

began=$(date +%s%N)
start
menubar=$!
wait_for 20 'server' ready
echo "ready after $((($(date +%s%N) - began) / 1000000)) ms"
wait_for 20 'window' window
echo "window after $((($(date +%s%N) - began) / 1000000)) ms"
wait_for 20 'text in the window' painted
sleep 1
import -window root "$OUT/window.png"

# A second start shows the minimised window of the first, and ends.
xdotool windowminimize "$(window)"
wait_for 10 'window that is minimised' no_window
"$MENUBAR" --program "$TANDEM" --window "$WINDOW" || fail 'a second start fails'
wait_for 20 'window that was minimised' window
[ "$(window | wc -l)" = 1 ] || fail 'a second start opens a second window'

# The window is closed, and comes back; the server stays.
server=$(pid)
wait_for 10 'end of the window' closed
ready || fail 'the server went with the window'
"$MENUBAR" --program "$TANDEM" --window "$WINDOW"
wait_for 20 'text in the window that came again' painted

# The server is killed, and comes back.
kill -9 "$server"
wait_for 20 'server again' ready
[ "$(pid)" != "$server" ] || fail 'the server was not killed'

# The menu is killed. Its server ends with it, so the next start has its own.
server=$(pid)
kill -9 $menubar
wait_for 15 'end of the server' gone "$server"
pkill -f "$WINDOW" || true
wait_for 10 'end of the window' no_window
start --login
menubar=$!
wait_for 20 'server after a kill' ready
no_window || fail 'a start at login opens a window'

# Quit.
server=$(pid)
kill -TERM $menubar
wait $menubar || fail "the menu bar ended with $?"
gone "$server" || fail 'the server outlives the menu bar'

# A server crashes three times. The window says so, and starts it again.
crashing=$(mktemp -d)
cat >"$crashing/tandem" <<END
#!/bin/sh
echo x >>"$crashing/starts"
[ "\$(wc -l <"$crashing/starts")" -gt 3 ] && exec "$TANDEM" "\$@"
echo 'tandem: the weights are gone' >&2
exit 3
END
chmod +x "$crashing/tandem"
crashed() { [ "$(wc -l <"$crashing/starts")" = 3 ]; }
# again follows the link that skips to the page, whose first button is it.
again() {
  xdotool windowfocus --sync "$(window)" key --clearmodifiers --delay 60 Tab Return Tab Return
  sleep 1
  ready
}
"$MENUBAR" --program "$crashing/tandem" --window "$WINDOW" -- --addr 127.0.0.1:0 &
menubar=$!
wait_for 20 'third crash' crashed
wait_for 20 'text in the window of what crashed' painted
sleep 5 # the page asks again after 4 s at most
import -window root "$OUT/crashed.png"
ready && fail 'a server that crashed is there'
wait_for 60 'server after a click' again
[ "$(wc -l <"$crashing/starts")" = 4 ] || fail 'the server was started by itself'
kill -TERM $menubar
wait $menubar || fail "the menu bar ended with $?"
rm -rf "$crashing"

# The window by itself, without a menu: it keeps a server, which ends with it.
TANDEM_HOME=$(mktemp -d)
export TANDEM_HOME
came_back() { ready && [ "$(pid)" != "$server" ]; }
"$WINDOW" -- --addr 127.0.0.1:0 &
face=$!
wait_for 20 'server of a window by itself' ready
wait_for 20 'text in a window by itself' painted
server=$(pid)
kill -9 "$server"
wait_for 20 'server again of a window by itself' came_back
server=$(pid)
wait_for 10 'end of a window by itself' closed
wait $face || fail "a window by itself ended with $?"
gone "$server" || fail 'the server outlives the window that kept it'
rm -rf "$TANDEM_HOME"

# A window that is told to end while it starts ends.
for pause in 0.1 0.2 0.3 0.4; do
  "$WINDOW" --follow &
  face=$!
  sleep "$pause"
  kill -TERM $face
  wait_for 30 'end of a window that was starting' gone $face
done
echo 'all is well'
