package pool

import (
	"errors"
	"fmt"
	"testing"

	"tandem/app/control"
	"tandem/engine/enginetest"
)

// The settings of a model pack its drafter and bound what that reads, from the next load on. No token
// changes.
func TestModelSettingsReachTheDrafter(t *testing.T) {
	r := start(t, setup{Model: tinyModel(t, "qwen3", "tiny"), NoCheckpoints: true})
	dir := enginetest.TinyDFlash2(t, 259, []int{0, 2}, map[string]any{
		"layer_types": []string{"full_attention", "full_attention"}})
	if _, err := control.Call(t.Context(), r.client(t), control.SetDrafter,
		control.DrafterRequest{Model: "tiny",
			Drafter: dir}); err != nil {
		t.Fatal(err)
	}
	ask := fmt.Sprintf(fixedDepth, "dflash")
	plain := r.say(t, "tiny", ask)
	m := r.pool.look().model()
	if got := m.drafter.Files().Info.Quantization; got != "" {
		t.Errorf("at first the drafter is packed: %s", got)
	}
	st, err := r.pool.SetModelSettings(t.Context(), control.ModelSettings{Model: "tiny",
		DraftWindow: new(10), DrafterBits: new(4)})
	if err != nil || !st.Later || *st.Settings.DraftWindow != 10 || *st.Settings.DrafterBits != 4 {
		t.Errorf("set: %+v, %v", st, err)
	}
	if err := r.pool.Unload(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if got := r.say(t, "tiny", ask); fmt.Sprint(got.IDs) != fmt.Sprint(plain.IDs) ||
		got.Timings.DraftN == 0 || got.Timings.NoDrafter != "" {
		t.Errorf("after a load: %v, want %v; %+v", got.IDs, plain.IDs, got.Timings)
	}
	m = r.pool.look().model()
	if got := m.drafter.Files().Info.Quantization; got != "4-bit" || m.drafter.Variant().Settings.Window != 10 {
		t.Errorf("after a load the drafter is packed in %q and reads %d rows", got,
			m.drafter.Variant().Settings.Window)
	}
	// Memory includes a table of angles for each, which is no weight, and outputs that packing pads.
	held := m.bundle.Info.Bytes + m.drafter.Files().Info.Bytes
	if got := m.needs.Weights; got > held || got < held-4<<10 {
		t.Errorf("weights of %d bytes were expected, and %d are held", got, held)
	}
	if st, err := r.pool.ModelSettings(t.Context(), "tiny"); err != nil || st.Later {
		t.Errorf("after a load: %+v, %v", st, err)
	}
	_, err = r.pool.SetModelSettings(t.Context(), control.ModelSettings{Model: "tiny",
		DrafterBits: new(5)})
	if e, ok := errors.AsType[*control.Error](err); !ok || e.Param != "drafter_bits" {
		t.Errorf("5 bits: %v", err)
	}
}
