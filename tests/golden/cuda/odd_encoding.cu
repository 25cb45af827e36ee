// größe in Latin-1, a byte order mark, CRLF line ends and tabs
#include <cuda_runtime.h>

__global__ void odd_encoding(int *out, const int *x, int n)
{
	int i = blockIdx.x * blockDim.x \
		+ threadIdx.x;
	if (i < n)
		out[i] = x[i] ^ 1; /* café */
}

void run(int *out, const int *x, int n)
{
	odd_encoding<<<(n + 127) / 128, 128>>>(out, x, n);
}
