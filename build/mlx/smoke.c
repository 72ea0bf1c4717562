// Adds two arrays on the CPU and checks the sum: proof, at the end of setup, that headers, libraries and run
// path fit together on this machine.
#include <stdio.h>

#include "mlx/c/mlx.h"

int main(void) {
  float a[3] = {1, 2, 3}, b[3] = {10, 20, 30};
  int shape[1] = {3};
  mlx_stream cpu = mlx_default_cpu_stream_new();
  mlx_array x = mlx_array_new_data(a, shape, 1, MLX_FLOAT32);
  mlx_array y = mlx_array_new_data(b, shape, 1, MLX_FLOAT32);
  mlx_array z = mlx_array_new();
  if (mlx_add(&z, x, y, cpu) != 0 || mlx_array_eval(z) != 0) {
    return 1;
  }
  const float *sum = mlx_array_data_float32(z);
  printf("%g %g %g\n", sum[0], sum[1], sum[2]);
  int ok = sum[0] == 11 && sum[1] == 22 && sum[2] == 33;
  mlx_array_free(x);
  mlx_array_free(y);
  mlx_array_free(z);
  mlx_stream_free(cpu);
  return ok ? 0 : 1;
}
