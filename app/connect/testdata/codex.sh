export TANDEM_API_KEY=tandem-key
codex -c 'model="org/model"' -c 'model_provider="tandem"' -c model_context_window=65536 -c 'model_providers.tandem.name="Tandem"' -c 'model_providers.tandem.base_url="http://127.0.0.1:9999/v1"' -c 'model_providers.tandem.wire_api="responses"' -c model_providers.tandem.stream_idle_timeout_ms=3600000 -c 'model_providers.tandem.env_key="TANDEM_API_KEY"'
