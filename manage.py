#!/usr/bin/env python
"""Django's command line for Conductor."""

import os
import sys

from django.core.management import execute_from_command_line

from conductor_site.bootstrap import faults_in_lines

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "conductor_site.settings")
    with faults_in_lines():
        execute_from_command_line(sys.argv)
