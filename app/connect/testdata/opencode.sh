export OPENCODE_CONFIG_CONTENT='{
  "$schema": "https://opencode.ai/config.json",
  "model": "tandem/org/model",
  "provider": {
    "tandem": {
      "models": {
        "org/model": {
          "limit": {
            "context": 65536,
            "output": 8192
          },
          "name": "Tandem"
        }
      },
      "name": "Tandem",
      "npm": "@ai-sdk/openai-compatible",
      "options": {
        "apiKey": "tandem-key",
        "baseURL": "http://127.0.0.1:9999/v1"
      }
    }
  }
}
'
opencode
