"""`invoke --list` shows the commands; all of them live in `packager/commands/`."""

from packager.commands import collection

ns = collection()
