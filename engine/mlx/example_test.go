package mlx_test

import (
	"context"
	"fmt"

	"tandem/engine/mlx"
)

// A thread owns MLX. Operations record a graph, and a read computes it.
func Example() {
	thread, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer thread.Close()
	err = thread.Do(context.Background(), func(s *mlx.Scope) error {
		a := mlx.New(s, []float32{1, 2, 3, 4}, 2, 2)
		sum := s.Add(s.MatMul(a, a), s.Scalar(1, mlx.Float32))
		values, err := mlx.Read[float32](s, sum)
		fmt.Println(sum.Shape(), values)
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: [2 2] [8 11 16 23]
}

// A failure needs no check after each operation: later ones do nothing, and Do returns it.
func ExampleThread_Do_failure() {
	thread, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer thread.Close()
	err = thread.Do(context.Background(), func(s *mlx.Scope) error {
		a := mlx.New(s, []float32{1, 2, 3}, 2, 2)
		return s.Eval(s.Exp(s.Add(a, a)))
	})
	fmt.Println(err)
	// Output: mlx: 3 elements do not fill shape [2 2]
}

// A kept array outlives the scope that made it. Its owner frees it on the thread.
func ExampleScope_Keep() {
	thread, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer thread.Close()
	ctx := context.Background()
	var weight *mlx.Array
	err = thread.Do(ctx, func(s *mlx.Scope) error {
		weight = s.Keep(s.Arange(0, 4, mlx.Float32))
		return s.Eval(weight)
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = thread.Do(ctx, func(s *mlx.Scope) error {
		defer weight.Free()
		sum, err := mlx.Read[float32](s, s.Sum(weight, 0, false))
		fmt.Println(sum)
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: [6]
}
