"""Analyses of data and models beyond scores; they import neither commands nor the command line."""
