/* driver.h - functions of the driver, asked for by name: the library links the runtime alone. */
#ifndef GB_CUDA_DEVICE_DRIVER_H
#define GB_CUDA_DEVICE_DRIVER_H

/* The function as it has been since 'version' of CUDA (10020: 10.2), NULL: the driver has none. */
void *gb_cuda_driver_function (const char *name, unsigned version);

#endif
