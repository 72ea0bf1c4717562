# What a newcomer does, in a root without a compiler and without a network. walk.go adds the steps of
# the pages: each calls run, serve or chat, and they print what a terminal shows.
set -eu

for program in go cargo rustc node python3 cc gcc c++ curl wget; do
  if command -v "$program" >/dev/null; then
    echo "the root has $program"
    exit 1
  fi
done

begun=$(date +%s%N)
export SHELL=/bin/bash TERM=xterm
cd /mnt # where the archive and its installer are

# begin_page PAGE makes a home of its own. START.md installs and removes Tandem itself.
begin_page() {
  page=$1
  server=
  export HOME="/root/$page"
  mkdir -p "$HOME"
  [ "$page" = app/START.md ] || check_installer
  export -p >/tmp/shell
}

# end_page expects that nothing but data is left where Tandem was installed.
end_page() {
  stop
  [ "$page" = app/START.md ] || sh install.sh --uninstall
  left=$(find "$HOME/.local" -path "$HOME/.local/share/tandem" -prune -o \( -type f -o -type l \) -print)
  if [ -n "$left" ]; then
    echo "left behind: $left"
    exit 1
  fi
}

# terminal COMMANDS SCREEN runs a file of commands on a terminal, with the variables that the one
# before has left.
terminal() {
  script -qefc "set -e; . /tmp/shell; stty cols 80 rows 24; . $1; export -p >/tmp/shell" "$2"
}

# await COMMAND waits for it to succeed, a minute at most.
await() {
  tries=0
  until eval "$1"; do
    tries=$((tries + 1))
    [ "$tries" -lt 600 ]
    sleep 0.1
  done
}

# begin_step AT and end_step surround what a step prints. The second says when it was done.
begin_step() { printf '\n== %s\n' "$1"; }
end_step() { printf '\n-- %dms\n' $((($(date +%s%N) - begun) / 1000000)); }

# run AT does the step on standard input.
run() {
  begin_step "$1"
  cat >/tmp/commands
  terminal /tmp/commands /dev/null </dev/null
  end_step
}

# serve AT starts a server by the step on standard input, on a second terminal, after the one that
# runs there.
serve() {
  begin_step "$1"
  stop
  cat >/tmp/serve
  rm -f /tmp/serve.keys /tmp/serve.screen
  mkfifo /tmp/serve.keys
  terminal /tmp/serve /tmp/serve.screen </tmp/serve.keys >/dev/null &
  server=$!
  exec 4>/tmp/serve.keys
  await 'grep -qs "Serving " /tmp/serve.screen'
  grep -av "^Script " /tmp/serve.screen
  end_step
}

# stop presses Ctrl-C in the terminal of the server, if there is one.
stop() {
  if [ -n "$server" ]; then
    printf '\003' >&4
    wait "$server"
    exec 4>&-
    server=
  fi
}

# chat AT types the lines of standard input into a chat, each at a prompt, and Ctrl-D at the last.
chat() {
  begin_step "$1"
  cat >/tmp/typed
  echo "tandem chat" >/tmp/chat
  rm -f /tmp/chat.keys /tmp/chat.screen
  mkfifo /tmp/chat.keys
  terminal /tmp/chat /tmp/chat.screen </tmp/chat.keys >/dev/null &
  chat=$!
  exec 3>/tmp/chat.keys
  prompts=1
  while read -r line; do
    await '[ "$(grep -cs ">>> " /tmp/chat.screen)" = $prompts ]'
    printf '%s\r' "$line" >&3
    prompts=$((prompts + 1))
  done </tmp/typed
  await '[ "$(grep -cs ">>> " /tmp/chat.screen)" = $prompts ]'
  printf '\004' >&3
  wait "$chat"
  exec 3>&-
  grep -av "^Script " /tmp/chat.screen
  end_step
}

# check_installer installs, expects the files for shells and man, and tries a damaged archive,
# which changes nothing.
check_installer() {
  sh install.sh
  for file in share/man/man1/tandem-run.1 share/bash-completion/completions/tandem share/zsh/site-functions/_tandem \
    share/fish/vendor_completions.d/tandem.fish; do
    if ! [ -s "$HOME/.local/$file" ]; then
      echo "$file is missing"
      exit 1
    fi
  done
  grep -q 'tandem run' "$HOME/.local/share/man/man1/tandem-run.1"

  mkdir "$HOME/damaged"
  cp install.sh "$HOME/damaged"
  head -c 1000000 tandem-*.tar.gz >"$HOME/damaged/$(basename tandem-*.tar.gz)"
  if sh "$HOME/damaged/install.sh" 2>"$HOME/refused"; then
    echo "a damaged archive was installed"
    exit 1
  fi
  grep "is damaged" "$HOME/refused"
  export PATH="$HOME/.local/bin:$PATH"
  tandem --version
}
