"""The witnesses of the NVIDIA driver below its libraries: bus, kernel, device files, libraries, fabric."""
