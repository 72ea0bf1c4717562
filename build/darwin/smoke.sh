#!/usr/bin/env bash
# Unpacks the archive of `go run ./build app` on a Mac, and does what a first user does. The seal
# is whole, the command line runs and the pocket model answers. The menu bar starts with its server
# and quits with it.
set -euo pipefail

archive=$1
work=$(mktemp -d)
export TANDEM_HOME=$work/home
app=$work/Tandem.app
tandem=$app/Contents/Resources/bin/tandem
server=
menu=
cleanup() {
  for process in $server $menu; do kill "$process" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# wait_for SECONDS WHAT COMMAND... until the command succeeds.
wait_for() {
  local limit=$1 what=$2
  shift 2
  local end=$((SECONDS + limit))
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || fail "no $what within $limit s"
    sleep 0.1
  done
}

ditto -x -k "$archive" "$work"
codesign --verify --strict --verbose=2 "$app"
codesign --verify --strict --verbose=2 "$app/Contents/Helpers/Tandem Window.app"
codesign --display --verbose=2 "$app" 2>&1 | grep -E 'Identifier|flags|Signature'
plutil -lint "$app/Contents/Info.plist" "$app/Contents/Library/LaunchAgents/"*.plist

"$tandem" --version
ln -s "$tandem" "$work/link"
"$work/link" --version >/dev/null || fail 'it does not run through a link, as from a folder of commands'
"$tandem" doctor || fail 'doctor finds something wrong'

"$tandem" serve --addr 127.0.0.1:0 --model pocket >"$work/address" 2>"$work/log" &
server=$!
wait_for 60 'address' test -s "$work/address"
url=$(head -1 "$work/address")
wait_for 60 'model' curl -sf "$url/health"
answer=$(curl -sf "$url/v1/completions" -H 'Content-Type: application/json' \
  -d '{"model": "tandem", "prompt": "func (s *Server) ", "max_tokens": 8, "temperature": 0}')
echo "$answer" | grep -q '"completion_tokens":8' || fail "no answer: $answer"
kill "$server"
wait "$server" || fail "serve ended with $?"
server=

"$app/Contents/MacOS/Tandem" --login -- --addr 127.0.0.1:0 2>"$work/menu.log" &
menu=$!
wait_for 60 'server of the menu bar' curl -sf --unix-socket "$TANDEM_HOME/run/control.sock" http://tandem/app/state
kill "$menu"
wait "$menu" || fail "the menu bar ended with $?: $(cat "$work/menu.log")"
menu=
echo 'all is well'
