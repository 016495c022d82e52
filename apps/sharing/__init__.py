"""Share links: addresses at which anyone reads one run or conversation for a while."""
