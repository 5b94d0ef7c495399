"""What the libraries of a package need from the DSP, from FastRPC and from each other."""
