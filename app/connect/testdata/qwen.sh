mkdir -p /tmp/dir
cat >/tmp/dir/settings.json <<'END'
{
  "env": {
    "TANDEM_API_KEY": "tandem-key"
  },
  "model": {
    "name": "org/model"
  },
  "modelProviders": {
    "openai": [
      {
        "baseUrl": "http://127.0.0.1:9999/v1",
        "envKey": "TANDEM_API_KEY",
        "generationConfig": {
          "contextWindowSize": 65536
        },
        "id": "org/model",
        "name": "Tandem"
      }
    ]
  },
  "security": {
    "auth": {
      "selectedType": "openai"
    }
  }
}
END
export QWEN_CODE_SYSTEM_SETTINGS_PATH=/tmp/dir/settings.json
qwen
