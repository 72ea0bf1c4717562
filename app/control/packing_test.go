package control

import "testing"

// A list of found models and one of registered ones say the same of a file.
func TestPackingNamesFileAndMemory(t *testing.T) {
	for _, c := range []struct{ fileType, quantization, dtype, want string }{
		{"Q4_K_M", "4-bit", "F32", "Q4_K_M, 4-bit"}, {"F16", "", "F16", "F16"},
		{"BF16", "", "F32", "BF16, F32"}, {"", "4-bit", "BF16", "4-bit"}, {"", "", "BF16", "BF16"},
		{"", "", "", ""},
	} {
		m := Model{FileType: c.fileType, Quantization: c.quantization, Dtype: c.dtype}
		f := FoundModel{FileType: c.fileType, Quantization: c.quantization, Dtype: c.dtype}
		if m.Packing() != c.want || f.Packing() != c.want {
			t.Errorf("%+v is %q and %q", c, m.Packing(), f.Packing())
		}
	}
}
