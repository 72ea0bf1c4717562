#!/bin/sh
# Wails' own tool calls this instead of go: wails build -compiler "$PWD/build/wails-go.sh". The tool builds the package
# beside wails.json, but the window's main package is elsewhere. The window also needs a tandem to start.
set -e
if [ "$1" = build ]; then
  version=$(sed -n 's/.*"productVersion": "\(.*\)".*/\1/p' wails.json)
  go build -tags ui -ldflags "-X main.release=$version" -o "build/out/$(go env GOOS)-$(go env GOARCH)/cli/tandem" ./app/cmd/tandem
  exec go "$@" ./app/cmd/desktop
fi
exec go "$@"
