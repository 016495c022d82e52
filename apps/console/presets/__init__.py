"""Pages of presets: the list, what each one says, its versions and its form."""
