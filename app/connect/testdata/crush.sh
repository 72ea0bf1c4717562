mkdir -p /tmp/dir
cat >/tmp/dir/crushrc <<'END'
if [ -f ~/.config/crush/crushrc ]; then source ~/.config/crush/crushrc; fi
provider add tandem --name Tandem --type openai-compat --base-url http://127.0.0.1:9999/v1 --api-key tandem-key
model add tandem/org/model --name Tandem --context-window 65536 --default-max-tokens 8192
model large tandem/org/model
model small tandem/org/model
END
export CRUSH_GLOBAL_CONFIG=/tmp/dir
crush
