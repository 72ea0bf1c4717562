package responses_test

import (
	"testing"

	"tandem/app/roomtest"
)

func FuzzResponseRequest(f *testing.F) {
	f.Add(`{"model":"tandem","input":"x","store":false,"stream":true,"text":{"format":{"type":"json_object"}}}`)
	f.Add(`{"model":"tandem","input":[{"role":"user","content":[{"type":"input_text","text":"\ud800"}]},{"type":"reasoning","summary":[],"content":null},{"type":"function_call","call_id":"call_123456789","name":"f","arguments":"{\"a\":1}"},{"type":"function_call_output","call_id":"call_123456789","output":[{"type":"text","text":""}]}],"tools":[{"type":"namespace","name":"n","tools":[{"type":"function","name":"f"}]},{"type":"function","name":"f","parameters":{}}],"tool_choice":"required"}`)
	f.Add(`{"model":"tandem","input":[{"id":"msg_ABCDEFGHIJKLMNOPQRSTUVWXYZ0"}],"previous_response_id":"resp_x","metadata":{"a":"b"},"include":["message.output_text.logprobs"],"top_logprobs":2}`)
	roomtest.FuzzBody(f, serve, "/v1/responses")
}
