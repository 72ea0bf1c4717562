#!/usr/bin/env bash
# Does what a user does with the menu itself, by way of the bus on which a desktop draws it: looks,
# stops a request, opens the window, quits. `go run ./build test ui` runs it.
set -euo pipefail
. "$(dirname "$0")/window.sh"

openbox &
"$MENUBAR" --program "$TANDEM" --window "$WINDOW" --login -- --addr 127.0.0.1:0 &
menubar=$!
wait_for 20 'server' ready

menu() { gdbus "$1" --session --dest "$bus" --object-path /org/ayatana/NotificationItem/systray/Menu "${@:2}"; }
# found finds the connection of the menu bar.
found() {
  for bus in $(gdbus call --session --dest org.freedesktop.DBus --object-path / \
    --method org.freedesktop.DBus.ListNames | grep -o ':1\.[0-9]*'); do
    menu introspect | grep com.canonical.dbusmenu >/dev/null && return
  done
  return 1
}
# rows prints the rows that are shown, one a line, with their numbers.
rows() {
  menu call --method com.canonical.dbusmenu.GetLayout -- 0 -1 '[]' | sed 's/<(/\n/g' |
    grep -v "'visible': <false>" | grep "'label'"
}
shown() { rows | grep "<'$1" >/dev/null; }
hidden() { ! shown "$1"; }
# click clicks the last row whose text begins so.
click() {
  menu call --method com.canonical.dbusmenu.Event -- "$(rows | grep "<'$1" | tail -1 | cut -d, -f1)" \
    clicked '<0>' 0 >/dev/null
}

wait_for 20 'menu' found
wait_for 20 'row that says what is done' shown Ready
shown 'Copy Address 127.0.0.1:' && shown 'Speculative Decoding' && shown 'New Chat' || fail 'rows are missing'
hidden Stop || fail 'something can be stopped while nothing runs'

# ticked: the row whose text begins so has the state of its tick, 0 or 1.
ticked() { rows | grep "<'$1" | grep "'toggle-state': <$2>"; }
drafting() { app state | grep "\"drafting\":\"$1\""; }
drafting on >/dev/null || fail 'the model drafts nothing at first'
click 'Speculative Decoding'
wait_for 10 'end of the drafts' drafting off
# drafts_again clicks once more, because a click means what the row showed then.
drafts_again() { ticked 'Speculative Decoding' 0 && click 'Speculative Decoding'; sleep 0.2; drafting on; }
wait_for 10 'drafts' drafts_again

curl -sN --unix-socket "$TANDEM_HOME/run/control.sock" http://tandem/v1/completions -A zed/1 \
  -H 'Content-Type: application/json' \
  -d '{"model":"tandem","prompt":"func main() {","max_tokens":3000,"ignore_eos":true,"stream":true}' >/dev/null &
request=$!
wait_for 20 'row of the request' shown 'Zed: writing'
shown 'Show Run' || fail 'no row leads to the run'
click Stop
wait_for 10 'end of the request' hidden 'Zed: '
wait $request || fail "the request that was stopped ended with $?"
wait_for 20 'line about today' shown 'Today: 1 request'

click Settings
wait_for 20 'text in the window' painted
click 'Quit Tandem'
wait $menubar || fail "the menu bar ended with $?"
echo 'all is well'
