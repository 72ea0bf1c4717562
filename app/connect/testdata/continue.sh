mkdir -p /tmp/dir
cat >/tmp/dir/config.yaml <<'END'
name: Tandem
version: 1.0.0
schema: v1
models:
  - name: Tandem
    provider: openai
    model: org/model
    apiBase: http://127.0.0.1:9999/v1
    apiKey: tandem-key
    roles: [chat, edit, apply, autocomplete]
    defaultCompletionOptions:
      contextLength: 65536
END
cn --config /tmp/dir/config.yaml
