export GOOSE_PROVIDER=openai
export GOOSE_MODEL=org/model
export OPENAI_HOST=http://127.0.0.1:9999
export OPENAI_BASE_PATH=v1/chat/completions
export OPENAI_API_KEY=tandem-key
export GOOSE_CONTEXT_LIMIT=65536
goose session
