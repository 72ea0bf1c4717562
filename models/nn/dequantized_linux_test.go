package nn

import (
	"fmt"
	"math"
	"testing"

	"tandem/engine/mlx"
)

// TestUnpackedIsScaleTimesNumberPlusBias compares dequantized matrices with the definition, rounded once.
func TestUnpackedIsScaleTimesNumberPlusBias(t *testing.T) {
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	const rows, columns, group = 3, 64, 32
	for _, bits := range []int{2, 4, 8} {
		err := th.Do(t.Context(), func(s *mlx.Scope) error {
			perWord := 32 / bits
			words := make([]uint32, rows*columns/perWord)
			for i := range words {
				words[i] = uint32(i+1) * 2654435761
			}
			scales := s.Normal(s.Key(1), mlx.Float32, 0, 1, rows, columns/group)
			biases := s.Normal(s.Key(2), mlx.Float32, 0, 1, rows, columns/group)
			m := matrix{
				weight: mlx.New(s, words, rows, columns/perWord), scales: scales, biases: biases,
				quantization: mlx.Quantization{GroupSize: group, Bits: bits, Mode: "affine"},
			}
			plain := m.dequantized(s)
			if plain.quantized() {
				return fmt.Errorf("it is packed")
			}
			got, err := mlx.Read[float32](s, plain.weight)
			if err != nil {
				return err
			}
			scale, err := mlx.Read[float32](s, scales)
			if err != nil {
				return err
			}
			bias, err := mlx.Read[float32](s, biases)
			for i, v := range got {
				number := words[i/perWord] >> (i % perWord * bits) & (1<<bits - 1)
				want := float32(math.FMA(float64(scale[i/group]), float64(number), float64(bias[i/group])))
				if v != want {
					return fmt.Errorf("element %d is %g, want %g", i, v, want)
				}
			}
			return err
		})
		if err != nil {
			t.Errorf("%d bits: %v", bits, err)
		}
	}
}
