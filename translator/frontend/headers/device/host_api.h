// The runtime API, loosely: host code is read for its launches, not compiled.
#pragma once
enum cudaError { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2,
                 cudaErrorNoDevice = 100, cudaErrorNotReady = 600,
                 cudaErrorPeerAccessAlreadyEnabled = 704, cudaErrorNotSupported = 801, cudaErrorUnknown = 999 };
typedef cudaError cudaError_t;
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost,
                      cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerBlockOptin, sharedMemPerMultiprocessor, totalConstMem,
      memPitch;
  int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate, major, minor,
      multiProcessorCount, maxThreadsPerMultiProcessor, l2CacheSize, cooperativeLaunch, computeMode,
      memoryClockRate, memoryBusWidth, concurrentKernels, managedMemory, concurrentManagedAccess,
      canMapHostMemory, integrated;
};
struct cudaExtent { size_t width, height, depth; };
struct cudaPos { size_t x, y, z; };
struct cudaPitchedPtr { void* ptr; size_t pitch, xsize, ysize; };
struct cudaResourceDesc; struct cudaTextureDesc; struct cudaMemcpy3DParms; struct cudaFuncAttributes;
typedef struct cudaArray* cudaArray_t;
typedef struct CUgraph_st* cudaGraph_t;
typedef struct CUgraphExec_st* cudaGraphExec_t;
typedef struct CUfunc_st* cudaFunction_t;
typedef struct cublasContext* cublasHandle_t;
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
                         cudaFuncAttributePreferredSharedMemoryCarveout = 9 };
enum cudaFuncCache { cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1,
                     cudaFuncCachePreferEqual };
enum { cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2, cudaStreamNonBlocking = 1,
       cudaHostAllocDefault = 0, cudaHostAllocMapped = 2, cudaMemAttachGlobal = 1, cudaMemAttachHost = 2,
       cudaHostRegisterDefault = 0 };

#define CUTEPORT_HOST_API(NAME) extern "C" CUTEPORT_HD cudaError_t NAME(...);
CUTEPORT_HOST_API(cudaFree) CUTEPORT_HOST_API(cudaFreeHost) CUTEPORT_HOST_API(cudaFreeAsync)
CUTEPORT_HOST_API(cudaFreeArray) CUTEPORT_HOST_API(cudaMemcpy) CUTEPORT_HOST_API(cudaMemcpyAsync)
CUTEPORT_HOST_API(cudaMemcpy2D) CUTEPORT_HOST_API(cudaMemset) CUTEPORT_HOST_API(cudaMemsetAsync)
CUTEPORT_HOST_API(cudaMemset2D) CUTEPORT_HOST_API(cudaMemGetInfo) CUTEPORT_HOST_API(cudaMemPrefetchAsync)
CUTEPORT_HOST_API(cudaMemAdvise) CUTEPORT_HOST_API(cudaHostRegister) CUTEPORT_HOST_API(cudaHostUnregister)
CUTEPORT_HOST_API(cudaDeviceSynchronize) CUTEPORT_HOST_API(cudaThreadSynchronize)
CUTEPORT_HOST_API(cudaDeviceReset) CUTEPORT_HOST_API(cudaDeviceGetAttribute)
CUTEPORT_HOST_API(cudaDeviceSetCacheConfig) CUTEPORT_HOST_API(cudaDeviceSetLimit)
CUTEPORT_HOST_API(cudaDeviceEnablePeerAccess) CUTEPORT_HOST_API(cudaDeviceCanAccessPeer)
CUTEPORT_HOST_API(cudaGetLastError) CUTEPORT_HOST_API(cudaPeekAtLastError) CUTEPORT_HOST_API(cudaSetDevice)
CUTEPORT_HOST_API(cudaGetDevice) CUTEPORT_HOST_API(cudaGetDeviceCount)
CUTEPORT_HOST_API(cudaGetDeviceProperties) CUTEPORT_HOST_API(cudaDriverGetVersion)
CUTEPORT_HOST_API(cudaRuntimeGetVersion) CUTEPORT_HOST_API(cudaStreamCreate)
CUTEPORT_HOST_API(cudaStreamCreateWithFlags) CUTEPORT_HOST_API(cudaStreamDestroy)
CUTEPORT_HOST_API(cudaStreamSynchronize) CUTEPORT_HOST_API(cudaStreamWaitEvent)
CUTEPORT_HOST_API(cudaEventCreate) CUTEPORT_HOST_API(cudaEventCreateWithFlags)
CUTEPORT_HOST_API(cudaEventRecord) CUTEPORT_HOST_API(cudaEventSynchronize)
CUTEPORT_HOST_API(cudaEventQuery) CUTEPORT_HOST_API(cudaEventElapsedTime)
CUTEPORT_HOST_API(cudaEventDestroy) CUTEPORT_HOST_API(cudaCreateTextureObject)
CUTEPORT_HOST_API(cudaDestroyTextureObject)
#define CUTEPORT_HOST_TEMPLATE(NAME) template <class... A> cudaError_t NAME(A&&...);
CUTEPORT_HOST_TEMPLATE(cudaMalloc) CUTEPORT_HOST_TEMPLATE(cudaMallocHost) CUTEPORT_HOST_TEMPLATE(cudaHostAlloc)
CUTEPORT_HOST_TEMPLATE(cudaMallocManaged) CUTEPORT_HOST_TEMPLATE(cudaMallocAsync)
CUTEPORT_HOST_TEMPLATE(cudaMallocPitch) CUTEPORT_HOST_TEMPLATE(cudaMallocArray)
CUTEPORT_HOST_TEMPLATE(cudaMemcpyToArray) CUTEPORT_HOST_TEMPLATE(cudaMemcpyToSymbol)
CUTEPORT_HOST_TEMPLATE(cudaMemcpyToSymbolAsync) CUTEPORT_HOST_TEMPLATE(cudaMemcpyFromSymbol)
CUTEPORT_HOST_TEMPLATE(cudaMemcpyFromSymbolAsync) CUTEPORT_HOST_TEMPLATE(cudaGetSymbolAddress)
CUTEPORT_HOST_TEMPLATE(cudaGetSymbolSize) CUTEPORT_HOST_TEMPLATE(cudaFuncSetAttribute)
CUTEPORT_HOST_TEMPLATE(cudaFuncSetCacheConfig) CUTEPORT_HOST_TEMPLATE(cudaBindTexture)
CUTEPORT_HOST_TEMPLATE(cudaUnbindTexture)
CUTEPORT_HOST_TEMPLATE(cudaOccupancyMaxActiveBlocksPerMultiprocessor)
CUTEPORT_HOST_TEMPLATE(cudaOccupancyMaxPotentialBlockSize)
CUTEPORT_HOST_TEMPLATE(cudaLaunchCooperativeKernel) CUTEPORT_HOST_TEMPLATE(cudaLaunchKernel)
extern "C" CUTEPORT_HD const char* cudaGetErrorString(cudaError_t);
extern "C" CUTEPORT_HD const char* cudaGetErrorName(cudaError_t);
