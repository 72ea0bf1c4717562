mkdir -p /tmp/dir
cat >/tmp/dir/model.metadata.json <<'END'
{
  "openai/org/model": {
    "litellm_provider": "openai",
    "max_input_tokens": 65536,
    "mode": "chat"
  }
}
END
export AIDER_MODEL=openai/org/model
export AIDER_OPENAI_API_BASE=http://127.0.0.1:9999/v1
export AIDER_OPENAI_API_KEY=tandem-key
export AIDER_SHOW_MODEL_WARNINGS=false
export AIDER_MODEL_METADATA_FILE=/tmp/dir/model.metadata.json
aider
