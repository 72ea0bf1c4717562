#!/bin/sh
# Wails' own tool calls this in go's place: wails build -compiler "$PWD/build/wails-go.sh". It builds whatever lies
# beside wails.json, but the window's main package lies elsewhere, and the window wants a tandem that it can start.
set -e
if [ "$1" = build ]; then
  version=$(sed -n 's/.*"productVersion": "\(.*\)".*/\1/p' wails.json)
  go build -tags ui -ldflags "-X main.release=$version" -o "build/out/$(go env GOOS)-$(go env GOARCH)/cli/tandem" ./app/cmd/tandem
  exec go "$@" ./app/cmd/desktop
fi
exec go "$@"
