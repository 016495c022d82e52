"""Programs that run inside of sandboxes, as files of their own. They import nothing
of the product but each other."""
