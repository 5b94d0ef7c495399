"""What QNX and automotive guests ask of a package."""
