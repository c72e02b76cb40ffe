/* cluster.h - passes over points on a GPU (program/cluster.h), with the bits of the CPU's. */
#ifndef GB_CUDA_CLUSTER_CLUSTER_H
#define GB_CUDA_CLUSTER_CLUSTER_H

#include "program/cluster.h"

extern const gb_cluster_ops gb_cuda_cluster_ops;

#endif
