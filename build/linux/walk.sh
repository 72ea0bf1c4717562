# What a person does first, in a root without a compiler and without a network. test.go runs it.
set -eu

for program in go cargo rustc node python3 cc gcc c++ curl wget; do
  if command -v "$program" >/dev/null; then
    echo "the root has $program"
    exit 1
  fi
done

cd "$HOME"
start=$(date +%s%N)
sh /mnt/install.sh
PATH=$HOME/.local/bin:$PATH

tandem serve >serve.log 2>&1 &
server=$!
until grep -qs http: serve.log; do sleep 0.1; done
tandem run "What is the capital of France?" | tee answer
grep -q Paris answer
now=$(date +%s%N)
echo "first answer after $(((now - start) / 1000000))ms"
kill "$server"
wait "$server"

# A damaged archive changes nothing.
mkdir damaged
cp /mnt/install.sh damaged
head -c 1000000 /mnt/tandem-*.tar.gz >"damaged/$(basename /mnt/tandem-*.tar.gz)"
if sh damaged/install.sh 2>refused; then
  echo "a damaged archive was installed"
  exit 1
fi
grep "is damaged" refused
tandem --version

for file in share/man/man1/tandem-run.1 share/bash-completion/completions/tandem share/zsh/site-functions/_tandem \
  share/fish/vendor_completions.d/tandem.fish; do
  if ! [ -s "$HOME/.local/$file" ]; then
    echo "$file is missing"
    exit 1
  fi
done
grep -q 'tandem run' "$HOME/.local/share/man/man1/tandem-run.1"

sh /mnt/install.sh --uninstall
left=$(find "$HOME/.local" -path "$HOME/.local/share/tandem" -prune -o \( -type f -o -type l \) -print)
if [ -n "$left" ]; then
  echo "left behind: $left"
  exit 1
fi
