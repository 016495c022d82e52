"""Reports of evaluations: figures, comparisons, and the files that hold them."""
