"""HTP and Genie configuration, runner.conf and search paths: everything they name has to be there."""
