// Texture and surface references and objects; parsed, so that the kernel can be refused by name.
#pragma once
typedef unsigned long long cudaTextureObject_t, cudaSurfaceObject_t;
enum cudaTextureReadMode { cudaReadModeElementType, cudaReadModeNormalizedFloat };
enum { cudaTextureType1D = 1, cudaTextureType2D, cudaTextureType3D, cudaTextureTypeCubemap = 0xC,
       cudaTextureType1DLayered = 0xF1, cudaTextureType2DLayered = 0xF2 };
enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero, cudaBoundaryModeClamp, cudaBoundaryModeTrap };
enum cudaTextureFilterMode { cudaFilterModePoint, cudaFilterModeLinear };
enum cudaTextureAddressMode { cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror,
                              cudaAddressModeBorder };
enum cudaChannelFormatKind { cudaChannelFormatKindSigned, cudaChannelFormatKindUnsigned,
                             cudaChannelFormatKindFloat, cudaChannelFormatKindNone };
struct cudaChannelFormatDesc { int x, y, z, w; cudaChannelFormatKind f; };
template <class T> cudaChannelFormatDesc cudaCreateChannelDesc();
cudaChannelFormatDesc cudaCreateChannelDesc(int, int, int, int, cudaChannelFormatKind);
template <class T, int D = 1, cudaTextureReadMode M = cudaReadModeElementType> struct texture {
  int normalized;
  cudaTextureFilterMode filterMode;
  cudaTextureAddressMode addressMode[3];
  cudaChannelFormatDesc channelDesc;
};
#define CUTEPORT_TEXTURE template <class T, int D, cudaTextureReadMode M> T
CUTEPORT_TEXTURE tex1Dfetch(texture<T, D, M>, int);
CUTEPORT_TEXTURE tex1D(texture<T, D, M>, float);
CUTEPORT_TEXTURE tex2D(texture<T, D, M>, float, float);
CUTEPORT_TEXTURE tex3D(texture<T, D, M>, float, float, float);
template <class T> T tex1Dfetch(cudaTextureObject_t, int);
template <class T> T tex1D(cudaTextureObject_t, float);
template <class T> T tex2D(cudaTextureObject_t, float, float);
template <class T> T tex3D(cudaTextureObject_t, float, float, float);
template <class T> T tex1DLayered(cudaTextureObject_t, float, int);
template <class T> T tex2DLayered(cudaTextureObject_t, float, float, int);
template <class T> T tex2DLod(cudaTextureObject_t, float, float, float);
template <class T> T texCubemap(cudaTextureObject_t, float, float, float);
template <class T> void surf1Dwrite(T, cudaSurfaceObject_t, int, int = 0);
template <class T> T surf2Dread(cudaSurfaceObject_t, int, int, int = 0);
template <class T> void surf2Dread(T*, cudaSurfaceObject_t, int, int, int = 0);
template <class T> void surf2Dwrite(T, cudaSurfaceObject_t, int, int, int = 0);
template <class T> void surf3Dread(T*, cudaSurfaceObject_t, int, int, int, int = 0);
template <class T> void surf3Dwrite(T, cudaSurfaceObject_t, int, int, int, int = 0);
