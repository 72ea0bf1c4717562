cline auth --data-dir /tmp/dir --provider openai-compatible --baseurl http://127.0.0.1:9999/v1 --apikey tandem-key --modelid org/model
cline --data-dir /tmp/dir
