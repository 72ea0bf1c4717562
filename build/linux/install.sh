#!/bin/sh
# Installs Tandem for you alone, below ~/.local, or where TANDEM_PREFIX says.
#
#   sh install.sh              install, or replace an older version
#   sh install.sh --uninstall  remove it; models and Tandem's home stay
set -eu

name={{.Name}}
sha256={{.SHA256}}
glibc={{.Glibc}}
url={{.URL}}
prefix=${TANDEM_PREFIX:-$HOME/.local}

fail() {
  echo "install.sh: $*" >&2
  exit 1
}

# links prints each link to make in the shared folders of $prefix, and where it leads. Man pages are
# read from $1.
links() {
  cat <<END
bin/tandem ../lib/tandem/tandem
share/bash-completion/completions/tandem ../../../lib/tandem/share/bash/tandem
share/zsh/site-functions/_tandem ../../../lib/tandem/share/zsh/_tandem
share/fish/vendor_completions.d/tandem.fish ../../../lib/tandem/share/fish/tandem.fish
END
  for page in "$1"/share/man/man1/*.1; do
    echo "share/man/man1/$(basename "$page") ../../../lib/tandem/share/man/man1/$(basename "$page")"
  done
}

uninstall() {
  links "$prefix/lib/tandem" | while read -r link target; do
    if [ "$(readlink "$prefix/$link" || true)" = "$target" ]; then
      rm "$prefix/$link"
    fi
  done
  rm -rf "$prefix/lib/tandem"
  echo "Tandem is removed. History and checkpoints stay in ${TANDEM_HOME:-${XDG_DATA_HOME:-$HOME/.local/share}/tandem},"
  echo "downloaded models in ${HF_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/huggingface}."
}

check_machine() {
  [ "$(uname -s) $(uname -m)" = "Linux x86_64" ] || fail "this archive is for Linux on x86-64; build from source on $(uname -sm)"
  grep -qw avx2 /proc/cpuinfo || fail "this processor has no AVX2, which Tandem needs"
  have=$(ldd --version 2>&1 | sed -n '1s/.* //p')
  oldest=$(printf '%s\n%s\n' "$glibc" "$have" | sort -V | head -n 1)
  [ "$oldest" = "$glibc" ] || fail "this system has glibc ${have:-of no version that ldd names}; Tandem needs $glibc or newer"
}

# find_archive sets archive to the file beside this script, or to a download in $work.
find_archive() {
  archive=$(dirname "$0")/$name.tar.gz
  [ -f "$archive" ] && return
  [ -n "$url" ] || fail "put $name.tar.gz beside install.sh"
  archive=$work/$name.tar.gz
  echo "Downloading $name ..."
  if command -v curl >/dev/null; then
    curl -fSL --proto '=https' --progress-bar -o "$archive" "$url/$name.tar.gz"
  else
    wget -q --show-progress -O "$archive" "$url/$name.tar.gz"
  fi
}

install() {
  check_machine
  mkdir -p "$prefix/lib"
  work=$(mktemp -d "$prefix/lib/tandem-install.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  find_archive
  echo "$sha256  $archive" | sha256sum -c --status - || fail "$archive is damaged or another version; download both files again"
  tar -xzf "$archive" -C "$work"
  "$work/$name/tandem" --version >/dev/null || fail "Tandem does not start here; nothing was changed"
  # A Tandem that is running keeps the files it has open.
  [ ! -e "$prefix/lib/tandem" ] || mv "$prefix/lib/tandem" "$work/old"
  if ! mv "$work/$name" "$prefix/lib/tandem"; then
    [ ! -e "$work/old" ] || mv "$work/old" "$prefix/lib/tandem"
    fail "the new version cannot be put into $prefix/lib; the old one stays"
  fi
  links "$prefix/lib/tandem" | while read -r link target; do
    mkdir -p "$(dirname "$prefix/$link")"
    ln -sf "$target" "$prefix/$link"
  done
  echo "Installed $("$prefix/bin/tandem" --version) in $prefix."
  case ":$PATH:" in
    *":$prefix/bin:"*) ;;
    *)
      echo "$prefix/bin is not in your PATH. This adds it, until you close the terminal:"
      echo
      echo "  export PATH=\"$prefix/bin:\$PATH\""
      ;;
  esac
  echo
  echo "  tandem run \"What is the capital of France?\""
  echo "  tandem serve"
}

case "$#${1:-}" in
  0) install ;;
  1--uninstall) uninstall ;;
  *) fail "usage: sh install.sh [--uninstall]" ;;
esac
