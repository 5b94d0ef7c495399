"""What Android asks of a package: real files, page sizes, and words in the app's manifest."""
